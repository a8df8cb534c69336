/** The empty page, which its modules fill in. It has no inline scripts or styles. */

const attribute = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const ages = [
  ["0", "any age"],
  ["1000", "over 1 s"],
  ["60000", "over 1 min"],
  ["300000", "over 5 min"],
  ["3600000", "over 1 h"]
] as const

const options = (all: ReadonlyArray<readonly [value: string, text: string]>): string =>
  all.map(([value, text]) => `<option value="${value}">${text}</option>`).join("")

const groupings = ["session", "client", "user", "tool", "node", "state"].map((name) => [name, `by ${name}`] as const)
const orders = [
  ["oldest", "oldest first"],
  ["newest", "newest first"],
  ["largest", "largest first"],
  ["name", "by name"]
] as const
const kinds = [
  ["all", "all kinds"],
  ["request", "requests"],
  ["task", "tasks"],
  ["question", "questions"],
  ["subscription", "subscriptions"]
] as const

const tabs = ["Running", "Tools", "Problems", "Nodes"]
  .map((name, i) => {
    const id = name.toLowerCase()
    return `<button type="button" role="tab" id="tab-${id}" aria-controls="panel-${id}" aria-selected="${i === 0}" tabindex="${i === 0 ? 0 : -1}">${name}</button>`
  })
  .join("")

const select = (id: string, label: string, all: ReadonlyArray<readonly [value: string, text: string]>): string =>
  `<label class="hidden" for="${id}">${label}</label><select id="${id}">${options(all)}</select>`

const dialogs = `<dialog id="dialog" aria-labelledby="dialog-title">
<form id="reason-form">
<h2 id="dialog-title">Interrupt</h2>
<ul id="dialog-what"></ul>
<label for="reason">Reason, which the client receives</label>
<input id="reason" required maxlength="200" autocomplete="off">
<p id="dialog-error" class="error" role="alert"></p>
<div class="bar end"><button id="dialog-cancel" type="button">Cancel</button><button id="dialog-submit" type="submit" class="danger">Interrupt</button></div>
</form>
</dialog>
<dialog id="drain-dialog" aria-labelledby="drain-title">
<form id="drain-form">
<h2 id="drain-title">Drain</h2>
<p>The server rejects new sessions, lets running requests finish, and then closes all sessions. This cannot be undone.</p>
<select id="drain-node" aria-label="Node" hidden></select>
<p id="drain-error" class="error" role="alert"></p>
<div class="bar end"><button id="drain-cancel" type="button">Cancel</button><button type="submit" class="danger">Drain</button></div>
</form>
</dialog>
`

/** `path` is the page's path. */
export const html = (path: string): string => {
  const base = attribute(path)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>MCP console</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/style.css">
<script type="module" src="${base}/page/main.js"></script>
</head>
<body data-base="${base}">
<a class="skip" href="#tree">Skip to running requests</a>
<header>
<h1 id="name">MCP console</h1>
<p id="state" role="status">Not connected</p>
<p id="about"></p>
<p id="summary"></p>
<button id="theme" type="button" title="Light or dark">Theme</button>
<button id="drain" type="button" hidden>Drain</button>
<button id="leave" type="button" hidden>Forget token</button>
</header>
<noscript><p class="notice">This page requires JavaScript.</p></noscript>
<main>
<form id="login" class="card" hidden>
<h2>Connect</h2>
<p>Enter the token that the server was started with. This tab keeps it until you close the tab.</p>
<label for="token">Token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" required maxlength="8192">
<button type="submit" class="primary">Connect</button>
<p id="login-error" class="error" role="alert"></p>
</form>
<div id="main" hidden>
<section id="plots" aria-label="Figures of the last 15 minutes"></section>
<div id="tabs" role="tablist" aria-label="Views">${tabs}</div>
<section id="outcome" class="card" aria-label="Interrupted requests" hidden></section>
<div id="panel-running" class="panel" role="tabpanel" aria-labelledby="tab-running">
<section class="what card" aria-labelledby="what">
<div class="bar">
<h2 id="what" class="hidden">Running requests</h2>
<label class="hidden" for="search">Search</label>
<input id="search" type="search" placeholder="Search ( / ), or tool:name" title="Words, or fields: client: user: tool: node: state: kind: method: session: A value in quotes must match the whole field." autocomplete="off" spellcheck="false" maxlength="200">
${select("grouping", "Group", groupings)}
${select("kind", "Kind", kinds)}
${select("older", "Age", ages)}
${select("order", "Order", orders)}
<button id="interrupt-all" type="button" class="danger" hidden>Interrupt</button>
</div>
<div id="tree" role="tree" aria-labelledby="what" tabindex="-1"></div>
<p id="empty" class="quiet" hidden></p>
</section>
<section id="details" class="card" aria-label="Details" tabindex="-1"></section>
</div>
<section id="panel-tools" class="card panel-table" role="tabpanel" aria-labelledby="tab-tools" hidden></section>
<section id="panel-problems" class="card panel-table" role="tabpanel" aria-labelledby="tab-problems" hidden></section>
<section id="panel-nodes" class="card panel-table" role="tabpanel" aria-labelledby="tab-nodes" hidden></section>
</div>
</main>
${dialogs}<p id="said" role="status"></p>
</body>
</html>
`
}
