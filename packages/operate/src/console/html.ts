/** The page, empty: its modules fill it. It has no inline script and no inline style. */

const attribute = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const ages = [
  ["0", "any age"],
  ["1000", "older than 1 s"],
  ["60000", "older than 1 min"],
  ["300000", "older than 5 min"],
  ["3600000", "older than 1 h"]
].map(([value = "", text = ""]) => `<option value="${value}">${text}</option>`)

/** `path` is where the page is served. */
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
<a class="skip" href="#tree">Skip to what runs</a>
<header>
<h1>MCP console</h1>
<p id="state" role="status">Not connected</p>
<p id="summary"></p>
<button id="theme" type="button" title="Light or dark">Theme</button>
<button id="drain" type="button" hidden>Drain</button>
<button id="leave" type="button" hidden>Forget token</button>
</header>
<noscript><p class="notice">The page is a program: it needs JavaScript.</p></noscript>
<form id="login" class="card" hidden>
<h2>Token</h2>
<p>The token of the admin endpoint. This tab keeps it until it is closed.</p>
<label for="token">Token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" required maxlength="8192">
<button type="submit" class="primary">Connect</button>
<p id="login-error" class="error" role="alert"></p>
</form>
<main id="main" hidden>
<section id="plots" aria-label="Figures of the last five minutes"></section>
<section class="what card" aria-labelledby="what">
<div class="bar">
<h2 id="what">What runs</h2>
<label class="hidden" for="search">Search</label>
<input id="search" type="search" placeholder="Search ( / )" autocomplete="off" spellcheck="false" maxlength="200">
<label class="hidden" for="older">Age</label>
<select id="older">${ages.join("")}</select>
</div>
<div id="tree" role="tree" aria-labelledby="what" tabindex="-1"></div>
<p id="empty" class="quiet" hidden></p>
</section>
<section id="details" class="card" aria-label="Details" tabindex="-1"></section>
</main>
<dialog id="dialog" aria-labelledby="dialog-title">
<form id="reason-form">
<h2 id="dialog-title">Interrupt</h2>
<p id="dialog-what"></p>
<label for="reason">Reason, which its client is told</label>
<input id="reason" required maxlength="200" autocomplete="off">
<p id="dialog-error" class="error" role="alert"></p>
<div class="bar end"><button id="dialog-cancel" type="button">Cancel</button><button type="submit" class="danger">Interrupt</button></div>
</form>
</dialog>
<dialog id="drain-dialog" aria-labelledby="drain-title">
<form id="drain-form">
<h2 id="drain-title">Drain</h2>
<p>It takes no new session. Requests that run may end; then all sessions end. It cannot be undone.</p>
<select id="drain-node" aria-label="Node" hidden></select>
<p id="drain-error" class="error" role="alert"></p>
<div class="bar end"><button id="drain-cancel" type="button">Cancel</button><button type="submit" class="danger">Drain</button></div>
</form>
</dialog>
<p id="said" role="status"></p>
</body>
</html>
`
}
