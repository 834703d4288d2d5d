"""A trial as one self-contained web page for people: `workflow_gym.report.page.write_report`.

`marks` says what to draw for an action and how to call it, `film` puts actions and screenshots in order, `pictures`
turns files into data URIs, `page` fills the template `trial.html.j2` with all of it.
"""
