/** The style sheet of the page: light and dark, from 360 px on. */
export const css = `:root {
  color-scheme: light dark;
  --back: light-dark(#f4f5f7, #12151a);
  --card: light-dark(#ffffff, #1b2028);
  --line: light-dark(#d9dde3, #323a46);
  --text: light-dark(#1b2330, #e6eaf0);
  --quiet: light-dark(#596375, #9aa6b8);
  --mark: light-dark(#e6effc, #24344c);
  --accent: light-dark(#1a5fb4, #7cb2ff);
  --good: light-dark(#1f7a4d, #5fcf97);
  --warn: light-dark(#8a5a00, #f0b84c);
  --bad: light-dark(#b3261e, #ff8a80);
  --ask: light-dark(#7a3fb0, #c79bff);
  font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
}
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--back); color: var(--text); }
header { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; padding: 10px 16px; background: var(--card); border-bottom: 1px solid var(--line); }
h1 { font-size: 16px; margin: 0; }
h2 { font-size: 14px; margin: 0; }
h3 { font-size: 13px; margin: 16px 0 6px; }
p { margin: 0; }
#state { display: flex; align-items: center; gap: 6px; color: var(--quiet); }
#state::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: var(--quiet); }
#state[data-state="live"]::before { background: var(--good); }
#state[data-state="lost"]::before { background: var(--bad); }
#summary { flex: 1; color: var(--quiet); font-variant-numeric: tabular-nums; }
button, input, select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 5px 10px; min-height: 32px; }
button { cursor: pointer; }
button:hover { border-color: var(--quiet); }
button.primary { background: var(--accent); border-color: var(--accent); color: light-dark(#fff, #10151c); }
button.danger { background: var(--bad); border-color: var(--bad); color: light-dark(#fff, #10151c); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 8px; top: 8px; background: var(--card); padding: 8px; z-index: 1; }
#said { position: fixed; bottom: 16px; left: 50%; transform: translateX(-50%); margin: 0; max-width: 90vw; overflow-wrap: anywhere; }
#said:not(:empty) { padding: 8px 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; }
.notice { padding: 16px; }
.quiet { color: var(--quiet); }
.error { color: var(--bad); min-height: 1.45em; }
.bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.bar.end { justify-content: flex-end; margin-top: 8px; }
.bar h2 { margin-right: auto; }
#login { width: min(420px, calc(100vw - 24px)); margin: 48px auto; display: grid; gap: 8px; }
main { display: grid; gap: 12px; padding: 12px 16px; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); align-items: start; max-width: 1500px; margin: 0 auto; }
#plots { grid-column: 1 / -1; display: grid; gap: 12px; grid-template-columns: repeat(6, minmax(0, 1fr)); }
.plot { padding: 8px 10px; }
.plot .name { color: var(--quiet); font-size: 12px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.plot .figure { font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.plot svg { display: block; width: 100%; height: 34px; }
.plot path { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.plot path.area { fill: var(--mark); stroke: none; }
#search { flex: 1 1 120px; min-width: 0; max-width: 260px; }
#tree { margin-top: 8px; max-height: 68vh; overflow: auto; overscroll-behavior: contain; }
.row { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: 2px 8px; align-items: baseline; padding: 5px 8px; border-radius: 6px; cursor: pointer; scroll-margin: 40px; }
.row:hover { background: var(--back); }
.row[aria-selected="true"] { background: var(--mark); }
.row[aria-level="2"] { padding-left: 24px; }
.row[aria-level="3"] { padding-left: 44px; }
.row .title { overflow-wrap: anywhere; }
.row.session .title { font-weight: 600; }
.row .age { color: var(--quiet); font-variant-numeric: tabular-nums; white-space: nowrap; }
.row .more { grid-column: 2 / -1; color: var(--quiet); font-size: 12px; overflow-wrap: anywhere; }
.row progress { width: 80px; height: 6px; margin-right: 6px; accent-color: var(--accent); }
.badge { font-size: 11px; line-height: 16px; padding: 0 6px; border-radius: 8px; border: 1px solid currentcolor; white-space: nowrap; }
.badge.running { color: var(--good); }
.badge.pending, .badge.sleeping { color: var(--warn); }
.badge.asking, .badge.question { color: var(--ask); }
.badge.ending { color: var(--bad); }
.badge.subscription, .badge.session { color: var(--quiet); }
#details { position: sticky; top: 12px; max-height: calc(100vh - 24px); overflow: auto; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 12px; margin: 8px 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.timeline { width: 100%; display: block; background: var(--back); border-radius: 6px; }
.timeline text { fill: var(--quiet); font-size: 11px; }
.timeline .grid { stroke: var(--line); }
.bar-answered { fill: var(--good); }
.bar-running { fill: var(--accent); }
.bar-asked, .bar-question { fill: var(--ask); }
.bar-failed { fill: var(--bad); }
.bar-cancelled { fill: var(--quiet); }
.timeline .tick { fill: var(--card); stroke: var(--text); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 12px; font-size: 12px; color: var(--quiet); margin: 6px 0; padding: 0; list-style: none; }
.legend svg { width: 10px; height: 10px; margin-right: 4px; }
pre { margin: 2px 0 0; font-size: 11px; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--quiet); }
.messages .bar h3 { margin-right: auto; }
.messages tbody td { font-size: 12px; }
table { width: 100%; border-collapse: collapse; font-size: 13px; }
th { text-align: left; color: var(--quiet); font-weight: 500; }
th, td { padding: 3px 6px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dialog { border: 1px solid var(--line); border-radius: 10px; background: var(--card); color: var(--text); width: min(440px, calc(100vw - 24px)); padding: 16px; }
dialog::backdrop { background: rgb(0 0 0 / 45%); }
dialog form { display: grid; gap: 8px; }
dialog p { overflow-wrap: anywhere; }
@media (max-width: 860px) {
  header, main { padding-left: 10px; padding-right: 10px; }
  main { grid-template-columns: minmax(0, 1fr); }
  #plots { grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 8px; }
  #details { max-height: none; position: static; }
  #tree { max-height: 56vh; }
  #summary { flex-basis: 100%; order: 9; }
  #state { flex: 1; }
}
@media (max-width: 430px) {
  #plots { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  #search { max-width: none; flex-basis: 100%; order: 2; }
  #older { order: 1; }
}
@media (prefers-reduced-motion: no-preference) { .row { transition: background-color 80ms; } }
@media (forced-colors: active) { .row[aria-selected="true"] { outline: 2px solid Highlight; } }
`
