/** Formats the report of a check as text: one line per rule, grouped by specification page, followed by the details of each broken rule. */
import type { Version } from "@effect-mcp/protocol/Revision"
import { holdsIn, type Statement } from "../model/Rule.ts"
import type { RuleCount } from "../model/Tally.ts"
import type { Line } from "../play/Played.ts"
import * as Report from "../report/Report.ts"
import { columns, safe } from "../report/Escaping.ts"
import { sdkOf, split } from "../report/Baseline.ts"
import { standingOf } from "../report/Standing.ts"
import type { CheckOutcome } from "./CheckOutcome.ts"

/** Functions that highlight parts of the text. Default: no highlighting. */
export interface Paint {
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly faint: (text: string) => string
  readonly strong: (text: string) => string
}

export interface Options extends Report.TextOptions {
  readonly paint?: Paint | undefined
}

const identity = (text: string): string => text
const plain: Paint = { good: identity, bad: identity, faint: identity, strong: identity }

/** The parts of the specification, in its order. The pages of a part are sorted by name. */
const parts: ReadonlyArray<string> = [
  "basic",
  "basic/lifecycle",
  "basic/versioning",
  "basic/transports",
  "basic/patterns",
  "basic/utilities",
  "server",
  "extensions"
]

const beyond = "robustness"
const pageOf = ({ section = beyond }: Statement): string => section.split("#")[0] ?? section

const placeOf = (page: string): number =>
  page === beyond ? parts.length : parts.findLastIndex((part) => page === part || page.startsWith(`${part}/`))

const inOrder = (one: string, two: string): number => placeOf(one) - placeOf(two) || (one < two ? -1 : 1)

/** Returns the newest of these revisions to which a rule applies. */
const newestOf = (rule: Statement, revisions: ReadonlyArray<Version>): Version | undefined =>
  revisions.find((version) => holdsIn(rule, version))

const titleOf = (page: string, rules: ReadonlyArray<RuleCount>, revisions: ReadonlyArray<Version>): string => {
  if (page === beyond) return "Robustness (not covered by the specification)"
  const version = rules.map(({ rule }) => newestOf(rule, revisions) ?? rule.until ?? rule.since).find(identityOf)
  return `${page}  ${Report.url(page, version ?? "latest")}`
}

const identityOf = (version: Version | undefined): boolean => version !== undefined

type Found = CheckOutcome["findings"][number]

/** Returns the revisions of the findings, in the order of the report. */
const revisionsOf = (found: ReadonlyArray<Found>, { revisions = [] }: CheckOutcome): ReadonlyArray<string> =>
  revisions.filter((version) => found.some(({ script }) => script.revision === version))

const lineOf = (each: RuleCount, report: CheckOutcome, paint: Paint, names: ReadonlySet<string>): string => {
  const { rule } = each
  const standing = standingOf(each, report, names)
  if (standing === "kept") return `  ${paint.good("✓")} ${rule.text}`
  if (standing !== "broken") return paint.faint(`  - ${rule.text} (not applicable: ${standing.reason})`)
  const found = report.findings.filter((each) => each.rule.name === rule.name)
  const level = Report.ordered(found)[0]?.level ?? rule.level
  const by = found.every((each) => sdkOf(each, report) !== undefined) ? " by the SDK" : ""
  return `  ${paint.bad(`✗ ${level}`)} ${rule.text} Broken${by} in ${revisionsOf(found, report).join(", ")}.`
}

const grouped = (report: CheckOutcome, paint: Paint): ReadonlyArray<string> => {
  const { revisions = [], rules } = report
  const names = new Set(report.findings.map(({ rule }) => rule.name))
  const all = [...new Set(rules.map(({ rule }) => pageOf(rule)))].toSorted(inOrder)
  return all.map((page) => {
    const own = rules.filter(({ rule }) => pageOf(rule) === page)
    const lines = own.map((each) => lineOf(each, report, paint, names))
    return [paint.strong(titleOf(page, own, revisions)), ...lines].join("\n")
  })
}

/** Returns the conversation without its initial handshake and the end of its session. */
const middle = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const opened = lines.findIndex(({ from, text }) => from === "client" && text.includes('"notifications/initialized"'))
  const rest = lines.slice(opened + 1)
  const shown = rest.at(-1)?.text === "DELETE" ? rest.slice(0, -1) : rest
  return shown.length > 0 ? shown : lines
}

const mostLines = 10

const failure = (found: ReadonlyArray<Found>, report: CheckOutcome, paint: Paint, options: Options): string => {
  const [first] = found
  if (first === undefined) return ""
  const { detail, key, level, lines, rule, script } = first
  const others = [...new Set(found.map((each) => each.key))].filter((other) => other !== key)
  const also =
    others.length === 0
      ? []
      : [`    The same for ${others.map((other) => safe(other.slice(rule.name.length + 1))).join(", ")}`]
  const cited = rule.section === undefined ? [] : [Report.url(rule.section, script.revision)]
  const shown = middle(lines)
  const left = shown.length > mostLines ? [`(${shown.length - mostLines} more lines)`] : []
  const command = options.replay?.(first)
  return [
    `${paint.bad(`✗ ${level}`)}  ${paint.strong(safe(key))}  (${revisionsOf(found, report).join(", ")})`,
    `    ${rule.text}`,
    ...cited.map((text) => `    ${paint.faint(text)}`),
    `    ${safe(detail)}`,
    ...also,
    ...[...Report.conversation(shown.slice(0, mostLines)).split("\n"), ...left].map((text) => `      ${text}`),
    ...(command === undefined ? [] : [`    Check it again: ${safe(command)}`])
  ].join("\n")
}

const failures = (report: CheckOutcome, paint: Paint, options: Options): ReadonlyArray<string> => {
  const all = Report.ordered(split(report.findings, report).own)
  const names = [...new Set(all.map(({ rule }) => rule.name))]
  return names.map((name) =>
    failure(
      all.filter(({ rule }) => rule.name === name),
      report,
      paint,
      options
    )
  )
}

/** Returns a table with the number of exercised rules that were followed, by revision and level. */
const table = ({ findings, revisions = [], rules }: CheckOutcome): string => {
  const levels = ["MUST", "SHOULD", "robustness"]
  const rows = revisions.map((version) => {
    const broken = new Set(findings.filter(({ script }) => script.revision === version).map(({ rule }) => rule.name))
    const judged = rules.filter(({ revisions }) => revisions[version] !== undefined)
    return [
      version,
      ...levels.map((level) => {
        const own = judged.filter(({ rule }) => rule.level === level)
        return `${own.filter(({ rule }) => !broken.has(rule.name)).length} of ${own.length}`
      }),
      String(rules.length - judged.length)
    ]
  })
  return columns([["kept in", ...levels, "not applicable"], ...rows]).join("\n")
}

const count = (findings: ReadonlyArray<Found>, level: string): number =>
  new Set(findings.filter((found) => found.level === level).map(({ rule }) => rule.name)).size

const verdict = (report: CheckOutcome): string => {
  const { own, sdks } = split(report.findings, report)
  const [must, should, robust] = ["MUST", "SHOULD", "robustness"].map((level) => count(own, level))
  const inherited = sdks.size === 0 ? "" : ", not counting known SDK bugs"
  const seconds = (report.milliseconds / 1000).toFixed(1)
  const how = `${report.conversations} conversations, ${seconds} s`
  if (report.findings.length === 0) return `Every applicable rule is followed (${how}).`
  return `Broken: ${must} MUST, ${should} SHOULD, ${robust} robustness${inherited} (${how}).`
}

/** Formats the report as text. */
export const text = (report: CheckOutcome, options: Options = {}): string => {
  const { paint = plain } = options
  return [
    paint.strong(safe(`${report.about}, over ${report.transport ?? "a wire"}`)),
    ...grouped(report, paint),
    ...failures(report, paint, options),
    ...Report.inherited(report),
    table(report),
    ...(report.lost === undefined ? [] : [`The check ended early: ${safe(report.lost)}`]),
    ...(report.isCut && report.lost === undefined
      ? ["Time ran out before every rule was checked; use --time to allow more."]
      : []),
    ...(report.unconfirmed.length === 0
      ? []
      : [`Seen once, but not when repeated: ${report.unconfirmed.map(({ key }) => safe(key)).join(", ")}`]),
    verdict(report)
  ].join("\n\n")
}

/** Returns a badge's text and color. */
const badgeOf = (report: CheckOutcome): { readonly message: string; readonly color: string } => {
  const newest = report.revisions?.[0] ?? "unknown"
  if (report.lost !== undefined || report.isCut) return { message: "not checked", color: "lightgrey" }
  const { findings } = report
  const [must, others] = [count(findings, "MUST"), count(findings, "SHOULD") + count(findings, "robustness")]
  if (must > 0) return { message: `${newest}, ${must} MUST broken`, color: "red" }
  return others > 0
    ? { message: `${newest}, every MUST kept`, color: "green" }
    : { message: `${newest}, all rules kept`, color: "brightgreen" }
}

const label = "MCP"

/** Returns the badge as a shields.io endpoint response. */
export const badge = (report: CheckOutcome): unknown => ({ schemaVersion: 1, label, ...badgeOf(report) })

const colors: { readonly [color: string]: string } = {
  brightgreen: "#3fa32a",
  green: "#6a9a1f",
  red: "#c9442f",
  lightgrey: "#8a8a8a"
}

/** Returns the badge as an SVG image. It contains only fixed text and dates, so nothing has to be escaped. */
export const badgeSvg = (report: CheckOutcome): string => {
  const { color, message } = badgeOf(report)
  const [left, right] = [label, message].map((text) => text.length * 6.5 + 12)
  const width = (left ?? 0) + (right ?? 0)
  const word = (x: number, text: string) => `<text x="${x}" y="14">${text}</text>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="20" role="img" aria-label="${label}: ${message}">`,
    `<rect width="${width}" height="20" rx="3" fill="#555"/>`,
    `<rect x="${left}" width="${right}" height="20" rx="3" fill="${colors[color]}"/>`,
    `<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`,
    word((left ?? 0) / 2, label) + word((left ?? 0) + (right ?? 0) / 2, message),
    "</g></svg>",
    ""
  ].join("\n")
}
