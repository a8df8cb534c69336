/** The local page without its view. */

/** `base` is the path of the page. An embedded page shows nothing but the view, and the reason if the view has ended. */
export const html = (base: string, isEmbedded: boolean): string => `<!doctype html>
<html lang="en" data-theme="light"${isEmbedded ? " data-embedded" : ""}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>View</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/style.css">
<script type="module" src="${base}/page.js"></script>
</head>
<body>
<header>
<h1 id="title">View</h1>
<p id="status" role="status"></p>
<button id="theme" type="button">Dark</button>
<button id="width" type="button">Phone</button>
<button id="close" type="button">Close view</button>
</header>
<main>
<section id="stage" aria-label="View"></section>
<section id="log" aria-label="Messages" tabindex="0"></section>
</main>
</body>
</html>
`

export const css = `
:root { color-scheme: light; --back: #f4f4f2; --card: #fff; --text: #1c1c1a; --quiet: #64645e; --line: #dcdcd6; --view: #1d5fbf; --bad: #b3261e }
:root[data-theme="dark"] { color-scheme: dark; --back: #161615; --card: #20201f; --text: #ececea; --quiet: #a3a39c; --line: #3a3a37; --view: #7fb0ff; --bad: #ff8a80 }
* { box-sizing: border-box }
body { margin: 0; height: 100vh; display: flex; flex-direction: column; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif }
header { display: flex; gap: .75rem; align-items: center; padding: .6rem 1rem; border-bottom: 1px solid var(--line) }
h1 { font-size: 1rem; margin: 0 }
#status { flex: 1; margin: 0; color: var(--quiet) }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .25rem .7rem; cursor: pointer }
main { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 1fr) }
#stage { overflow: auto; padding: 1rem }
#stage iframe { display: block; width: 100%; height: 70vh; margin: 0 auto; border: 0 }
#stage.border iframe { border: 1px solid var(--line); border-radius: 10px; background: var(--card) }
#stage.phone iframe { width: 390px; max-width: 100% }
[data-embedded] body { background: none }
[data-embedded] :is(h1, button, #log), [data-embedded] header:has(#status:empty) { display: none }
[data-embedded] main { grid-template: minmax(0, 1fr) / minmax(0, 1fr) }
[data-embedded] #stage { padding: 0 }
[data-embedded] #stage iframe { height: 100% }
#log { overflow: auto; border-left: 1px solid var(--line); padding: .5rem 0; font-size: 13px }
#log details { padding: .15rem .75rem; border-bottom: 1px solid var(--line) }
#log .view summary { color: var(--view) }
#log .refused summary { color: var(--bad) }
#log summary { cursor: pointer; overflow-wrap: anywhere }
#log pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0 .5rem; color: var(--quiet) }
@media (max-width: 800px) { main { grid-template-columns: 1fr; grid-template-rows: 2fr 1fr } #log { border-left: 0; border-top: 1px solid var(--line) } }
`
