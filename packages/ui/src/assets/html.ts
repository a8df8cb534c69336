/** The empty page, which its program fills in. It has no inline scripts or styles. */
export const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>effect-mcp ui</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script type="module" src="main.js"></script>
</head>
<body>
<noscript><p>The page is a program: it needs JavaScript.</p></noscript>
<div id="app"></div>
</body>
</html>
`
