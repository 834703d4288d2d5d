"use strict";
(() => {
  const { screen, pictures, views } = JSON.parse(document.getElementById("data").textContent);
  if (!views.length) return;
  const $ = (id) => document.getElementById(id);
  const [stage, picture, marks, chip, slider, strip] = ["stage", "picture", "marks", "chip", "slider", "strip"].map($);
  const thumbs = [...strip.querySelectorAll("a")];
  const PLAY_MS = 1400;
  let current = -1;
  let timer = null;

  stage.style.aspectRatio = `${screen[0]} / ${screen[1]}`;

  // Marks keep their size for the eye however small the picture is shown: `unit` is one CSS pixel in screen pixels.
  function draw() {
    const view = views[current];
    const unit = screen[0] / (stage.clientWidth || screen[0]);
    marks.replaceChildren(...[...view.earlier, view.mark].filter(Boolean).map((mark) => {
      // What was not carried out is dashed.
      const dashes = mark === view.mark && view.state !== "done" ? { "stroke-dasharray": `${5 * unit} ${6 * unit}` } : {};
      const group = element("g", { class: mark === view.mark ? view.state : "earlier", ...dashes });
      const shapes = SHAPES[mark.shape](mark, unit);
      for (const [tag, attributes, look] of shapes.filter(([, , look]) => look !== "area")) {
        group.append(element(tag, { ...attributes, class: `halo ${look || ""}`, "stroke-width": 5.5 * unit }));
      }
      for (const [tag, attributes, look] of shapes) {
        group.append(element(tag, { ...attributes, class: look === "area" ? "area" : `line ${look || ""}`, "stroke-width": 2.5 * unit }));
      }
      return group;
    }));
  }

  function element(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  const ring = ([x, y], r, look) => ["circle", { cx: x, cy: y, r }, look];
  // The middle stays free, so that what is clicked can be read.
  const cross = ([x, y], inner, outer) => ["path", {
    d: [[1, 0], [-1, 0], [0, 1], [0, -1]]
      .map(([dx, dy]) => `M${x + dx * inner} ${y + dy * inner}L${x + dx * outer} ${y + dy * outer}`).join(""),
  }];
  const line = (points) => ["path", { d: "M" + points.map((point) => point.join(" ")).join("L") }];
  function head([x, y], [fromX, fromY], length) {
    const angle = Math.atan2(y - fromY, x - fromX);
    const wing = (turn) => [x - length * Math.cos(angle + turn), y - length * Math.sin(angle + turn)];
    return line([wing(0.5), [x, y], wing(-0.5)]);
  }

  const SHAPES = {
    click: ({ points: [at], count }, u) =>
      [ring(at, 13 * u, "area"), cross(at, 4 * u, 24 * u), ...Array.from({ length: count }, (_, i) => ring(at, (13 + 6 * i) * u))],
    move: ({ points: [at] }, u) => [cross(at, 4 * u, 18 * u)],
    press: ({ points: [at] }, u) => [cross(at, 9 * u, 20 * u), ring(at, 6 * u, "solid")],
    release: ({ points: [at] }, u) => [cross(at, 9 * u, 20 * u), ring(at, 6 * u)],
    drag({ points }, u) {
      const end = points[points.length - 1];
      // The arrow points where the path came from a little earlier; the last two points may be the same.
      const before = [...points].reverse().find(([x, y]) => Math.hypot(x - end[0], y - end[1]) > 6 * u) || points[0];
      return [line(points), head(end, before, 14 * u), ring(points[0], 7 * u, "solid")];
    },
    scroll({ points: [[x, y]], direction: [dx, dy] }, u) {
      const far = Math.hypot(dx, dy);
      if (!far) return [ring([x, y], 13 * u)];
      const length = 54 * u;
      const end = [x + (dx / far) * length, y + (dy / far) * length];
      return [ring([x, y], 6 * u, "solid"), line([[x, y], end]), head(end, [x, y], 16 * u)];
    },
    zoom({ points: [[left, top], [right, bottom]] }) {
      const box = { x: left, y: top, width: right - left, height: bottom - top };
      return [["rect", box]];
    },
  };

  function put(id, text, before = "") {
    $(id).textContent = before + text;
    $(id).hidden = !text;
  }

  function show(index, { remember = true } = {}) {
    index = Math.max(0, Math.min(views.length - 1, index));
    if (index === current) return;
    if (current >= 0) thumbs[current].removeAttribute("aria-current");
    current = index;
    const view = views[index];
    const lost = view.picture === null;
    $("lost").hidden = !lost;
    picture.hidden = lost;
    if (!lost && picture.dataset.shown !== String(view.picture)) {
      picture.src = pictures[view.picture];
      picture.dataset.shown = view.picture;
    }
    picture.alt = view.anchor === "end" ? "The last screen" : `The screen before step ${view.label}`;
    chip.classList.toggle("top", Boolean(view.mark) && view.mark.points.some(([, y]) => y > screen[1] * 0.8));
    $("film").dataset.state = view.state;
    const state = view.state === "done" ? "" : view.state[0].toUpperCase() + view.state.slice(1);
    put("chip", [state && (view.state === "skipped" ? state : `✗ ${state}`), view.chip].filter(Boolean).join(": "));
    put("where", view.anchor === "end" ? "End" : `Step ${view.label} of ${views.length - 1} · ${view.where}`);
    put("title", view.title);
    put("error", view.error, `${state}: `);
    $("error").className = `why ${view.state}`;
    $("zoom").hidden = view.zoom === null;
    if (view.zoom !== null) {
      $("zoomed").src = pictures[view.zoom];
      $("zoomed").alt = `Enlarged: ${view.title}`;
    }
    put("note", view.note);
    put("text", view.text);
    const details = [
      ["Time", view.time], ["Round took", view.took], ["Stated as", view.stated],
      ["Afterwards", view.anchor === "end" || state ? "" : view.settled ? "the screen came to rest" : "the screen was still changing"],
    ];
    $("details").replaceChildren(...details.filter(([, value]) => value).map(([name, value]) => {
      const row = document.createElement("div");
      row.append(document.createElement("dt"), document.createElement("dd"));
      [row.firstChild.textContent, row.lastChild.textContent] = [name, value];
      return row;
    }));
    draw();
    $("caption").scrollTop = 0;
    slider.value = index;
    slider.setAttribute("aria-valuetext", `${view.anchor === "end" ? "End" : "Step " + view.label}: ${view.title}${state && ", " + view.state}`);
    // Not `disabled`: a disabled button that has the focus swallows the keys.
    for (const id of ["first", "back"]) $(id).setAttribute("aria-disabled", String(index === 0));
    for (const id of ["next", "last"]) $(id).setAttribute("aria-disabled", String(index === views.length - 1));
    thumbs[index].setAttribute("aria-current", "step");
    // Only the strip scrolls; scrollIntoView would pull the whole page along.
    const box = thumbs[index].parentElement;
    strip.scrollLeft = box.offsetLeft - (strip.clientWidth - box.offsetWidth) / 2;
    if (remember) {
      try { history.replaceState(null, "", `#${view.anchor}`); } catch { /* Some viewers show pages without an address. */ }
    }
    if (index === views.length - 1) pause();
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    document.body.classList.remove("playing");
    $("play").setAttribute("aria-label", "Play");
    $("caption").setAttribute("aria-live", "polite");
  }

  function play() {
    if (timer) return pause();
    if (current === views.length - 1) show(0);
    if (views.length === 1) return;
    timer = setInterval(() => show(current + 1), PLAY_MS);
    document.body.classList.add("playing");
    $("play").setAttribute("aria-label", "Pause");
    $("caption").setAttribute("aria-live", "off"); // A running film would talk without end.
  }

  function toggleMarks() {
    const plain = stage.classList.toggle("plain");
    $("toggle").setAttribute("aria-pressed", String(!plain));
  }

  function go(index) {
    pause();
    show(index);
  }

  function fromAddress() {
    const name = location.hash.slice(1);
    return name === "step-0" ? 0 : views.findIndex((view) => view.anchor === name);
  }

  const jump = {
    first: () => go(0), back: () => go(current - 1), next: () => go(current + 1), last: () => go(views.length - 1),
    play, toggle: toggleMarks,
  };
  for (const [id, act] of Object.entries(jump)) $(id).addEventListener("click", act);
  slider.addEventListener("input", () => go(Number(slider.value)));
  addEventListener("hashchange", () => {
    const index = fromAddress();
    if (index < 0) return;
    go(index);
    $("film").scrollIntoView({ block: "nearest" });
  });
  const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play", m: "toggle", M: "toggle" };
  addEventListener("keydown", (event) => {
    const act = jump[keys[event.key]];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " " && event.target.closest("button, summary")) return; // Space presses what has the focus.
    event.preventDefault();
    act();
  });
  new ResizeObserver(() => draw()).observe(stage);

  const index = fromAddress();
  show(Math.max(0, index), { remember: false });
  if (index >= 0) $("film").scrollIntoView({ block: "start" });
})();
