/** The page's styles, for light and dark mode. */
export const css = `:root {
  color-scheme: light dark;
  --back: light-dark(#f6f7f9, #14161a);
  --card: light-dark(#ffffff, #1c1f25);
  --sunk: light-dark(#f0f2f5, #15181d);
  --line: light-dark(#dde1e7, #30353e);
  --text: light-dark(#1b1f26, #e6e9ee);
  --quiet: light-dark(#5b6470, #9aa4b2);
  --accent: light-dark(#3949c6, #a3b0ff);
  --on-accent: light-dark(#ffffff, #14161a);
  --soft: light-dark(#e9ecfd, #272c47);
  --good: light-dark(#136c3a, #6cd498);
  --good-soft: light-dark(#e0f4e8, #17301f);
  --bad: light-dark(#b3261e, #ff9b93);
  --bad-soft: light-dark(#fdeceb, #3b1d1c);
  --busy: light-dark(#7a5200, #f0c265);
  --busy-soft: light-dark(#fbf0d9, #352a12);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); }
h1, h2, h3, h4, h5, h6, p, ul, ol, dl, dd, pre, fieldset { margin: 0; padding: 0; }
h2 { font-size: 16px; }
h3 { font-size: 14px; }
.subhead { font-weight: 600; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; border-radius: 4px; }
code, pre, .code, .json, .figure { font-family: var(--mono); font-size: 12.5px; }
code { overflow-wrap: anywhere; }
.quiet { color: var(--quiet); font-weight: normal; }
.pad { padding: 8px 12px; }
.hide, .skip:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip:focus { position: fixed; top: 8px; left: 8px; z-index: 9; padding: 8px; background: var(--card); }

.app { display: grid; grid-template: auto minmax(0, 1fr) / 250px minmax(0, 1fr) minmax(340px, 28vw); grid-template-areas: "top top top" "menu main wire"; height: 100dvh; }
.top { grid-area: top; display: flex; align-items: center; gap: 10px; padding: 8px 14px; background: var(--card); border-bottom: 1px solid var(--line); min-width: 0; }
.top h1 { font-size: 15px; margin-right: auto; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; min-width: 0; }
.top h1 a { color: inherit; text-decoration: none; }
.state { display: flex; align-items: center; gap: 6px; color: var(--quiet); white-space: nowrap; }
.state::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--busy); }
.state.connected::before { background: var(--good); }
.state.closed::before { background: var(--bad); }
.menu { grid-area: menu; overflow: auto; border-right: 1px solid var(--line); background: var(--card); padding: 10px 8px 24px; }
.menu input { width: 100%; margin-bottom: 8px; }
.menu h2 { font-size: 12px; color: var(--quiet); margin: 14px 8px 4px; font-weight: 600; }
.menu ul { list-style: none; }
.menu a { display: flex; justify-content: space-between; align-items: baseline; gap: 6px; padding: 4px 8px; border-radius: 6px; color: var(--text); text-decoration: none; overflow-wrap: anywhere; }
.menu a:hover { background: var(--sunk); }
.menu a[aria-current] { background: var(--soft); color: var(--accent); font-weight: 600; }
.count { font-size: 12px; color: var(--quiet); }
.count.findings { color: var(--bad); font-weight: 600; }
main { grid-area: main; overflow: auto; padding: 14px; outline: none; scroll-padding: 14px; }
main > *, main > div > * { max-width: 980px; }
.wire { grid-area: wire; overflow: auto; border-left: 1px solid var(--line); background: var(--card); min-width: 0; }
.wire > header { position: sticky; top: 0; background: var(--card); padding: 10px 12px 4px; z-index: 1; }
.wire > header h2 { margin-right: auto; }
.filters { padding: 4px 12px 8px; border-bottom: 1px solid var(--line); }
.filters input[type="search"] { flex: 1 1 300px; }
.filters select { flex: 1 1 110px; min-width: 0; }
.tabs { display: none; }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; margin-bottom: 14px; display: flow-root; overflow-wrap: anywhere; }
.card > * + * { margin-top: 10px; }
.question { border-color: var(--accent); box-shadow: 0 0 0 3px var(--soft); }
.wrong { border-color: var(--bad); }
.part { border-top: 1px solid var(--line); padding-top: 8px; margin-top: 10px; }
.part > * + * { margin-top: 6px; }
.part iframe { display: block; width: 100%; border: 1px solid var(--line); border-radius: 8px; }
.part.wrong { border: 1px solid var(--bad); border-radius: 8px; background: var(--bad-soft); padding: 8px 12px; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; }
.end { justify-content: flex-end; margin-top: 12px; }
.tools { margin-bottom: 6px; }
.badge { display: inline-block; padding: 1px 8px; border-radius: 999px; font-size: 12px; background: var(--sunk); color: var(--quiet); font-weight: 500; white-space: nowrap; max-width: 100%; overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; }
.badge.good { background: var(--good-soft); color: var(--good); }
.badge.bad { background: var(--bad-soft); color: var(--bad); }
.badge.busy { background: var(--busy-soft); color: var(--busy); }
.figures { display: flex; flex-wrap: wrap; gap: 6px 18px; list-style: none; }
.plain { list-style: none; }
.plain li { padding: 2px 0; }
.logs li { border-top: 1px solid var(--line); padding: 4px 0; }
.address { font-family: var(--mono); overflow-wrap: anywhere; padding: 8px; background: var(--sunk); border-radius: 6px; margin: 8px 0; }

button, .button, select, input, textarea { font: inherit; color: inherit; border-radius: 6px; border: 1px solid var(--line); background: var(--card); }
button, .button { padding: 4px 12px; cursor: pointer; text-decoration: none; display: inline-block; color: var(--text); }
button:hover, .button:hover { background: var(--sunk); }
button:disabled { opacity: .5; cursor: default; }
.small { padding: 1px 8px; font-size: 12.5px; }
[aria-pressed="true"] { background: var(--soft); color: var(--accent); border-color: var(--accent); }
.primary { background: var(--accent); color: var(--on-accent); border-color: var(--accent); font-weight: 600; }
.primary:hover { background: color-mix(in srgb, var(--accent) 85%, var(--text)); }
.danger { border-color: var(--bad); color: var(--bad); }
.link { border: 0; padding: 0; background: none; color: var(--accent); text-decoration: underline; text-align: left; overflow-wrap: anywhere; display: inline; }
.link:hover { background: none; }
input, textarea { padding: 4px 8px; }
select { padding: 4px 6px; max-width: 100%; }
input[type="checkbox"] { width: 16px; height: 16px; margin: 0; accent-color: var(--accent); }
textarea { field-sizing: content; min-height: 30px; max-height: 50vh; resize: vertical; }
::placeholder { color: var(--quiet); opacity: .8; }
.inline { display: inline-flex; align-items: center; gap: 6px; }
.field { margin-top: 10px; border: 0; min-width: 0; }
.field input:not([type="checkbox"]), .field textarea, .field select, textarea.code { width: 100%; display: block; }
.field .bar { justify-content: space-between; }
.field .nested .bar input { flex: 1; width: auto; }
.name { font-weight: 600; font-family: var(--mono); font-size: 13px; }
.required { color: var(--bad); font-size: 12px; }
.about { color: var(--quiet); font-size: 13px; margin: 1px 0 3px; }
.limits { font-family: var(--mono); font-size: 12px; }
.about:empty { display: none; }
.nested { border-left: 2px solid var(--line); padding-left: 12px; margin-top: 4px; }
.nested > .field:first-child { margin-top: 4px; }
.nested > button, .nested > .bar { margin-top: 8px; }
legend { padding: 0; }
.violation { color: var(--bad); font-size: 13px; }
.choices { display: flex; flex-wrap: wrap; gap: 6px 12px; margin-top: 4px; }

.json { overflow-x: auto; background: var(--sunk); border-radius: 6px; padding: 6px 8px; overflow-wrap: anywhere; }
.json-node > :not(summary) { margin-left: 14px; }
.json-row { padding-left: 15px; }
.json-key { color: var(--text); font-weight: 600; }
.json-string { color: light-dark(#0a5a8a, #7cc4f0); white-space: pre-wrap; }
.json-number, .json-boolean, .json-null { color: light-dark(#8a3a00, #f0a56c); }
summary { cursor: pointer; }
pre.text, .markdown pre, .diff { background: var(--sunk); border-radius: 6px; padding: 8px 10px; overflow: auto; max-height: 60vh; white-space: pre-wrap; overflow-wrap: anywhere; }
.text { white-space: pre-wrap; }
.block + .block { margin-top: 10px; }
.block img { max-width: 100%; max-height: 420px; display: block; background: repeating-conic-gradient(#f0f2f5 0 25%, #fff 0 50%) 0 / 16px 16px; border-radius: 6px; margin-bottom: 6px; }
audio { width: 100%; max-width: 480px; margin-bottom: 6px; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr)); gap: 10px 16px; }
.beside > .part { border-top: 0; margin-top: 0; padding-top: 0; }
.beside .subhead { line-height: 20px; }
.block.bar { justify-content: space-between; }
.markdown > * + * { margin-top: 8px; }
.markdown ul, .markdown ol { padding-left: 22px; }
blockquote { margin: 0; padding-left: 10px; border-left: 3px solid var(--line); color: var(--quiet); }
.scroll { overflow-x: auto; }
.figure { white-space: nowrap; }
.history td:not(.what), .history th { white-space: nowrap; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--quiet); font-weight: 500; }
.diff span { display: block; }
.added { background: var(--good-soft); color: var(--good); }
.removed { background: var(--bad-soft); color: var(--bad); }
progress { width: 160px; accent-color: var(--accent); }

.messages { list-style: none; }
.message { border-bottom: 1px solid var(--line); }
.row { display: grid; grid-template-columns: 16px minmax(0, 1fr) auto 68px; gap: 8px; width: 100%; padding: 4px 12px; border: 0; border-radius: 0; background: none; text-align: left; align-items: baseline; }
.row .what { font-family: var(--mono); font-size: 12.5px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.row .figure { text-align: right; font-size: 12px; }
.arrow { font-weight: 700; color: var(--accent); }
.arrow.server { color: var(--good); }
.kind { font-size: 12px; color: var(--quiet); }
.kind.error, .kind.invalid { color: var(--bad); }
.kind.notification { color: var(--busy); }
.details { padding: 2px 12px 10px; }
.headers { font-family: var(--mono); font-size: 12px; margin: 4px 0 6px; overflow-wrap: anywhere; }
.headers div { display: flex; gap: 8px; }
.headers dt { color: var(--quiet); flex: none; }

.toast:empty { display: none; }
.toast { position: fixed; bottom: 18px; left: 50%; transform: translateX(-50%); width: max-content; background: var(--text); color: var(--back); padding: 8px 16px; border-radius: 8px; max-width: min(560px, 92vw); z-index: 5; overflow-wrap: anywhere; }
dialog { border: 1px solid var(--line); border-radius: 12px; background: var(--card); color: var(--text); padding: 18px; width: min(520px, 92vw); }
dialog::backdrop { background: rgb(0 0 0 / .45); }

@media (max-width: 1180px) {
  .app { grid-template: auto minmax(0, 1fr) / 220px minmax(0, 1fr) 300px; }
  .wide { display: none; }
}
@media (max-width: 980px) {
  .app { grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr); grid-template-areas: "top" "main" "tabs"; }
  .menu, .wire { display: none; border: 0; }
  .menu, .wire { grid-area: main; }
  .view-menu .menu, .view-wire .wire { display: block; }
  main { display: block; }
  .view-menu main, .view-wire main { height: 0; padding: 0; }
  .view-menu main > *, .view-wire main > * { display: none; }
  .tabs { grid-area: tabs; display: grid; grid-template-columns: repeat(3, 1fr); border-top: 1px solid var(--line); background: var(--card); }
  .tabs a { padding: 10px; text-align: center; text-decoration: none; color: var(--quiet); }
  .tabs a[aria-current] { color: var(--accent); font-weight: 600; box-shadow: inset 0 2px var(--accent); }
  .toast { bottom: 60px; }
}
@media (max-width: 560px) {
  .top { flex-wrap: wrap; gap: 6px 8px; }
  .top h1 { flex: 1 1 60%; }
  .top .inline, .top select { flex: 1; }
  .top .state .quiet, .history .when { display: none; }
  main { padding: 8px; }
  .card { padding: 10px 12px; }
}
@media (prefers-reduced-motion: no-preference) {
  .question { animation: appear .2s ease-out; }
  @keyframes appear { from { opacity: 0; transform: translateY(-6px); } }
}
`
