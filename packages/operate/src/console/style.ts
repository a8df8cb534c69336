/** The page's style sheet, for light and dark mode and widths from 360 px. */
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
  --warm-1: light-dark(#6b5d00, #e3d27a);
  --warm-2: light-dark(#8a5200, #f3b457);
  --warm-3: light-dark(#a83a0c, #ff9d66);
  --warm-4: light-dark(#b3161e, #ff8a80);
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
#about { color: var(--quiet); font-variant-numeric: tabular-nums; }
#summary { flex: 1; color: var(--quiet); font-variant-numeric: tabular-nums; }
button, input, select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 5px 10px; min-height: 32px; }
button { cursor: pointer; }
button:hover { border-color: var(--quiet); }
button.primary { background: var(--accent); border-color: var(--accent); color: light-dark(#fff, #10151c); }
button.danger { background: var(--bad); border-color: var(--bad); color: light-dark(#fff, #10151c); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 8px; top: 8px; background: var(--card); padding: 8px; z-index: 1; }
#said { position: fixed; bottom: 16px; left: 50%; transform: translateX(-50%); margin: 0; width: max-content; max-width: 90vw; overflow-wrap: anywhere; }
#said:not(:empty) { padding: 8px 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px; }
.notice { padding: 16px; }
.quiet { color: var(--quiet); }
.error { color: var(--bad); min-height: 1.45em; }
.bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.bar.end { justify-content: flex-end; margin-top: 8px; }
.bar h2 { margin-right: auto; }
.bar h3 { margin-block: 0; }
.bar:has(h3) { margin-block: 12px 6px; }
#login { width: min(420px, calc(100vw - 24px)); margin: 48px auto; display: grid; gap: 8px; }
#main { display: grid; gap: 12px; padding: 12px 16px; grid-template-columns: minmax(0, 1fr); max-width: 1500px; margin: 0 auto; }
.panel { display: grid; gap: 12px; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); align-items: start; }
#plots { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); }
#tabs { display: flex; gap: 4px; border-bottom: 1px solid var(--line); overflow-x: auto; }
[role="tab"] { border-color: transparent; border-radius: 6px 6px 0 0; background: none; }
[role="tab"][aria-selected="true"] { border-color: var(--line) var(--line) transparent; border-bottom: 2px solid var(--accent); background: var(--card); font-weight: 600; }
#outcome { display: grid; gap: 8px; max-height: 40vh; overflow: auto; }
.scroll { overflow-x: auto; }
.scroll table { min-width: 640px; }
#outcome .scroll table { min-width: 0; }
button.link { border: 0; background: none; padding: 2px 0; min-height: 24px; min-width: 24px; color: inherit; text-align: inherit; font: inherit; overflow-wrap: anywhere; }
th button.link { white-space: nowrap; }
td button.link { color: var(--accent); text-decoration: underline; }
td button.link:disabled { color: var(--quiet); text-decoration: none; cursor: default; }
th[aria-sort="ascending"] button::after { content: " ↑"; }
th[aria-sort="descending"] button::after { content: " ↓"; }
.bad { color: var(--bad); }
.good { color: var(--good); }
.warn { color: var(--warn); }
.plot { display: flex; flex-direction: column; padding: 8px 10px; }
.plot .name { color: var(--quiet); font-size: 12px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.plot .bar { justify-content: space-between; align-items: baseline; gap: 0 8px; }
.plot .most { color: var(--quiet); font-size: 11px; font-variant-numeric: tabular-nums; }
.plot .figure { font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.plot svg { margin-top: auto; width: 100%; height: 34px; }
.plot path { fill: none; stroke: var(--accent); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.plot path.area { fill: var(--mark); stroke: none; }
#search { flex: 1 1 150px; min-width: 0; }
#interrupt-all { margin-left: auto; }
#tree { margin-top: 8px; max-height: 68vh; overflow: auto; overscroll-behavior: contain; }
.rows { position: relative; }
.row { position: absolute; left: 0; right: 0; height: 46px; display: grid; grid-template-columns: auto minmax(0, 1fr) auto; grid-template-rows: 20px 17px; gap: 0 8px; align-items: baseline; align-content: center; padding: 0 8px; border-radius: 2px 6px 6px 2px; border-left: 3px solid transparent; cursor: pointer; }
.row:hover { background: var(--back); }
.row[aria-selected="true"] { background: var(--mark); }
.row[aria-level="2"] { padding-left: 24px; }
.row[aria-level="3"] { padding-left: 44px; }
.row .title, .row .more { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.row.session .title { font-weight: 600; }
.row .age { color: var(--quiet); font-variant-numeric: tabular-nums; white-space: nowrap; }
.row .more { grid-column: 2 / -1; color: var(--quiet); font-size: 12px; }
.row[data-warmth="1"] { border-left-color: var(--warm-1); }
.row[data-warmth="2"] { border-left-color: var(--warm-2); }
.row[data-warmth="3"] { border-left-color: var(--warm-3); }
.row[data-warmth="4"] { border-left-color: var(--warm-4); }
.row[data-warmth="1"] .age { color: var(--warm-1); }
.row[data-warmth="2"] .age { color: var(--warm-2); }
.row[data-warmth="3"] .age { color: var(--warm-3); font-weight: 600; }
.row[data-warmth="4"] .age { color: var(--warm-4); font-weight: 700; }
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
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); vertical-align: baseline; overflow-wrap: anywhere; }
.scroll :is(th, td) { overflow-wrap: break-word; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.number + :not(.number) { padding-left: 16px; }
.panel-table > p { margin-top: 8px; }
dialog ul, #details ul:not(.legend) { margin: 0; padding-left: 20px; }
dialog { border: 1px solid var(--line); border-radius: 10px; background: var(--card); color: var(--text); width: min(440px, calc(100vw - 24px)); padding: 16px; }
dialog::backdrop { background: rgb(0 0 0 / 45%); }
dialog form { display: grid; gap: 8px; }
dialog p { overflow-wrap: anywhere; }
@media (max-width: 860px) {
  header, #main { padding-left: 10px; padding-right: 10px; }
  .panel { grid-template-columns: minmax(0, 1fr); }
  #plots { gap: 8px; grid-template-columns: repeat(auto-fit, minmax(100px, 1fr)); }
  #details { max-height: none; position: static; }
  #tree { max-height: 56vh; }
  #summary { flex-basis: 100%; order: 9; }
  #state { flex: 1; }
}
@media (max-width: 430px) {
  #plots { grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 4px; }
  .plot { padding: 4px 6px; }
  .plot .figure { font-size: 15px; }
  .plot .most { display: none; }
  .plot svg { height: 22px; }
  #search { flex-basis: 100%; }
  .what select { flex: 1 1 40%; min-width: 0; }
  .row .title { grid-column: 2 / -1; }
  .row .age { grid-area: 2 / 3; }
  .row .more { grid-area: 2 / 2; }
}
@media (prefers-reduced-motion: no-preference) { .row { transition: background-color 80ms; } }
@media (forced-colors: active) { .row[aria-selected="true"] { outline: 2px solid Highlight; } }
`
