# Sourced by the other scripts: installs what is missing, says so, and skips what is there.
# Afterwards the project and its development tools are in .venv.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        say "root is needed for: $*"
        say "run that as root, then run this script again"
        exit 1
    fi
}

# Install Debian packages for the programs that are not on the PATH. Arguments: program:package …
install_packages() {
    local pair missing=()
    for pair in "$@"; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || [ -e "${pair%%:*}" ] || missing+=("${pair#*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null || { say "please install: ${missing[*]}"; exit 1; }
    say "installing system packages: ${missing[*]}"
    as_root apt-get -q update >/dev/null
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${missing[@]}" >/dev/null
}

find_python() {
    local candidate
    for candidate in python3.12 python3.13 python3.14 python3 "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python3; do
        candidate=$(command -v "$candidate" 2>/dev/null) || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo 3.12 # uv fetches it
}

set_up() {
    install_packages qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils qemu-storage-daemon:qemu-system-common \
        mmdebstrap:mmdebstrap gpg:gpg mke2fs:e2fsprogs unshare:util-linux \
        /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
    if [ "$(id -u)" != 0 ]; then
        install_packages newuidmap:uidmap fuse2fs:fuse2fs
    elif [ ! -e /dev/loop-control ]; then
        install_packages fuse2fs:fuse2fs
    fi
    if ! command -v uv >/dev/null; then
        say "installing uv into .uv"
        python3 -m venv --help >/dev/null 2>&1 || install_packages /usr/bin/python3:python3
        python3 -c 'import ensurepip' 2>/dev/null || install_packages /nonexistent:python3-venv
        python3 -m venv .uv
        .uv/bin/pip install -q uv
        PATH="$PWD/.uv/bin:$PATH"
    fi
    say "installing the project into .venv"
    [ -x .venv/bin/python ] || uv venv -q --python "$(find_python)" .venv
    uv pip install -q --python .venv/bin/python -e . --group dev
    PATH="$PWD/.venv/bin:$PATH"
}
