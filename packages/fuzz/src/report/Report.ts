/**
 * Reports of a search, for people and for machines: text, JSON, JUnit, and Markdown for the summary of a job.
 */
import * as Schema from "effect/Schema"
import { Script } from "../model/Script.ts"
import { Survey } from "../model/Survey.ts"
import type { Statement } from "../model/Rule.ts"
import type { RuleCount } from "../model/Tally.ts"
import type { Line } from "../play/Played.ts"
import { confirmations, type Finding, type SearchOutcome } from "../search/Search.ts"
import { cell, columns, cut, safe, xml } from "./Escaping.ts"
import { applies, standingOf } from "./Standing.ts"
import type { Report } from "../search/ServerSearch.ts"

export { quoted } from "./Escaping.ts"

/** A finding as a file: all that is needed to play it again. */
export const Recording = Schema.Struct({
  /** What tells the finding from others. */
  key: Schema.String,
  detail: Schema.String,
  /** The server that showed it, as people recognise it. */
  target: Schema.String,
  script: Script,
  /** What was known of the server. */
  survey: Survey
})
export type Recording = typeof Recording.Type

export const recording = (
  report: Pick<Report, "surveys" | "target">,
  { detail, key, script }: Pick<Finding, "detail" | "key" | "script">
): Recording | undefined => {
  const survey = report.surveys.find(({ revision }) => revision === script.revision)
  return survey && { key, detail, target: report.target, script, survey }
}

/** A name for the file of each recording: all are different, on any file system, and none leads out of a folder. */
export const fileNames = (recordings: ReadonlyArray<Pick<Recording, "key">>): ReadonlyArray<string> => {
  const taken = new Set<string>()
  return recordings.map(({ key }) => {
    const name = key.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 80)
    let free = name
    for (let number = 2; taken.has(free.toLowerCase()); number++) free = `${name}-${number}`
    taken.add(free.toLowerCase())
    return `${free}.json`
  })
}

const levels: ReadonlyArray<string> = ["MUST", "SHOULD", "robustness"]

/** Whether a search found what a run of CI should fail for: by default every confirmed violation. */
export const fails = (report: Searched, level: "MUST" | "SHOULD" | "robustness" = "robustness"): boolean =>
  report.lost !== undefined || report.findings.some((finding) => levels.indexOf(finding.level) <= levels.indexOf(level))

/** Findings with the strongest level first, then the newest revision. */
export const ordered = <F extends AnyFinding>(findings: ReadonlyArray<F>): ReadonlyArray<F> =>
  findings.toSorted(
    (one, two) =>
      levels.indexOf(one.level) - levels.indexOf(two.level) ||
      (one.script.revision === two.script.revision ? 0 : one.script.revision < two.script.revision ? 1 : -1)
  )

export type AnyFinding = Finding<{ readonly revision: string }>

/** A conversation, one line of the wire per line. Control characters are escaped. */
export const conversation = (lines: ReadonlyArray<Line>): string =>
  lines
    .map(({ beside, from, text }) => `${(from === "client" ? ">" : "<").repeat(beside ? 2 : 1)} ${safe(cut(text))}`)
    .join("\n")

/** The address of a section in a revision. */
export const url = (section: string, version: string): string => {
  const [page = "", anchor] = section.split("#")
  return `https://modelcontextprotocol.io/specification/${version}/${page}${anchor === undefined ? "" : `#${anchor}`}`
}

const reference = ({ requirement, section }: Statement, version: string): string =>
  requirement === undefined ? "" : `${requirement}${section === undefined ? "" : `, ${url(section, version)}`}`

const often = ({ again, times }: AnyFinding): string =>
  times !== undefined
    ? of(times, "time")
    : again === confirmations
      ? "each time"
      : `sometimes (${again} of ${confirmations} times)`

const shownAs = ({ isCut, times }: AnyFinding): string => {
  if (times !== undefined) return "What was said around the first one"
  return isCut === true
    ? "A conversation that shows it (the time was over before all shorter ones were tried)"
    : "The shortest conversation"
}

const of = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

const indent = (text: string, by: string): string => text.replace(/^/gm, by)

/** A line about a finding, for a screen. */
export const headline = ({ key, level, script }: AnyFinding): string => `${level}  ${safe(key)}  (${script.revision})`

/** What a report shows beside the findings. */
export interface TextOptions {
  /** The command that plays a finding again. Default: none is shown. */
  readonly replay?: ((finding: AnyFinding) => string | undefined) | undefined
}

const finding = (found: AnyFinding, replay: TextOptions["replay"]): string => {
  const { detail, lines, rule, script } = found
  const cited = reference(rule, script.revision)
  return [
    headline(found),
    indent(
      [rule.text, ...(cited === "" ? [] : [cited]), safe(detail), `Happened ${often(found)}. ${shownAs(found)}:`].join(
        "\n"
      ),
      "  "
    ),
    indent(conversation(lines), "    "),
    ...[replay?.(found)].flatMap((command) => (command === undefined ? [] : [`  Play it again: ${safe(command)}`]))
  ].join("\n")
}

/** What any search gives; that of a server has its surveys, and what was heard of real traffic the number of its messages. */
export type Searched = SearchOutcome<{ readonly revision: string }> & {
  readonly surveys?: ReadonlyArray<Survey>
  readonly messages?: number
  /** Of two servers that are compared. */
  readonly command?: "diff" | "check"
  readonly unstable?: ReadonlyArray<string>
}

const commandOf = ({ command, messages, surveys }: Searched): string =>
  command ?? (messages !== undefined ? "judge" : surveys === undefined ? "fuzz-client" : "fuzz")

const summary = (report: Searched): string => {
  const found = report.findings
  const count = (level: string) => found.filter((finding) => finding.level === level).length
  const exercised = report.rules.filter(({ broken, kept }) => broken + kept > 0)
  const [seconds, { messages }] = [(report.milliseconds / 1000).toFixed(1), report]
  const talks = of(report.conversations, "conversation")
  const per =
    messages === undefined
      ? `${talks} in ${seconds} s, seed ${report.seed}`
      : `${of(messages, "message")} in ${talks}, ${seconds} s`
  if (report.command === "diff") return `${per}: ${of(count("difference"), "difference")}`
  return `${per}: ${count("MUST")} MUST, ${count("SHOULD")} SHOULD, ${count("robustness")} robustness; ${exercised.length} of ${report.rules.length} rules exercised`
}

/** The rules that were broken, by revision: how often, of how many times that they were looked at. */
const table = ({ findings, revisions, rules }: Searched): ReadonlyArray<string> => {
  const names = new Set(findings.map(({ rule }) => rule.name))
  const broken = rules.filter(({ rule }) => names.has(rule.name))
  if (broken.length === 0 || revisions === undefined || revisions.length === 0) return []
  const newest = revisions.toSorted().toReversed()
  const shown = (count: RuleCount["revisions"][string] | undefined): string =>
    count === undefined ? "-" : count.broken === 0 ? "kept" : `${count.broken} of ${count.broken + count.kept}`
  const rows = broken.map((each) => [
    each.rule.level,
    each.rule.name,
    ...newest.map((version) => shown(each.revisions[version]))
  ])
  return [columns([["", "broken", ...newest], ...rows]).join("\n")]
}

/** For people. */
export const text = (report: Searched, { replay }: TextOptions = {}): string => {
  const idle = report.rules.filter(({ broken, kept, rule }) => broken + kept === 0 && applies(rule, report))
  const unstable = report.unstable ?? []
  return [
    safe(report.about),
    ...ordered(report.findings).map((found) => finding(found, replay)),
    ...(report.command === "diff" ? [] : table(report)),
    summary(report),
    ...(report.lost === undefined ? [] : [`The search ended early: ${safe(report.lost)}`]),
    ...(report.unconfirmed.length === 0
      ? []
      : [`Seen once and not confirmed: ${report.unconfirmed.map(({ key }) => safe(key)).join(", ")}`]),
    ...(unstable.length === 0
      ? []
      : [`Not compared, as it differs between two runs of one server: ${safe(unstable.join(", "))}`]),
    ...(idle.length === 0 || report.messages !== undefined
      ? []
      : [`Not exercised: ${idle.map(({ rule }) => rule.name).join(", ")}`])
  ].join("\n\n")
}

/** For machines. */
export const json = (report: Searched): unknown => {
  const names = new Set(report.findings.map(({ rule }) => rule.name))
  return {
    target: report.target,
    ...(report.messages === undefined ? { seed: report.seed } : { messages: report.messages }),
    conversations: report.conversations,
    milliseconds: report.milliseconds,
    servers: report.surveys?.map(({ capabilities, revision, server }) => ({ revision, server, capabilities })),
    ...(report.unstable === undefined ? undefined : { unstable: report.unstable }),
    findings: ordered(report.findings).map((found) => ({
      key: found.key,
      level: found.level,
      requirement: found.rule.requirement,
      revision: found.script.revision,
      text: found.rule.text,
      detail: found.detail,
      ...(found.times === undefined
        ? {
            again: found.again,
            confirmations,
            conversation: found.conversation,
            isCut: found.isCut,
            script: found.script
          }
        : { times: found.times }),
      lines: found.lines
    })),
    rules: report.rules.map((each) => {
      const { broken, kept, revisions, rule } = each
      const standing = standingOf(each, report, names)
      return {
        name: rule.name,
        level: rule.level,
        requirement: rule.requirement,
        kept,
        broken,
        revisions,
        ...(typeof standing === "object" ? { notExercised: standing.reason } : undefined)
      }
    })
  }
}

/** A test case per rule: kept, broken with its findings, or skipped where it was not exercised. */
export const junit = (report: Searched): string => {
  const found = report.findings
  const names = new Set(found.map(({ rule }) => rule.name))
  const cases = report.rules.map((each) => {
    const { rule } = each
    const open = `    <testcase classname="${xml(rule.level)}" name="${xml(`${rule.name}: ${rule.text}`)}"`
    const failures = found.filter((finding) => finding.rule.name === rule.name)
    if (failures.length > 0) {
      const told = failures.map(
        ({ detail, key, lines }) =>
          `<failure message="${xml(`${key}: ${detail}`)}">${conversation(lines).split("\n").map(xml).join("\n")}</failure>`
      )
      return `${open}>${told.join("")}</testcase>`
    }
    const standing = standingOf(each, report, names)
    return typeof standing === "object"
      ? `${open}><skipped message="${xml(standing.reason)}"/></testcase>`
      : `${open}/>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite name="${xml(`effect-mcp ${commandOf(report)} ${report.target}`)}" tests="${report.rules.length}" failures="${names.size}" time="${report.milliseconds / 1000}">`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    ""
  ].join("\n")
}

/** Markdown for the summary of a job of GitHub. */
export const markdown = (report: Searched): string =>
  [
    `### effect-mcp ${commandOf(report)}: ${cell(report.about)}`,
    "",
    summary(report),
    "",
    ...(report.findings.length === 0
      ? []
      : [
          "| level | finding | revision | what | happened |",
          "| --- | --- | --- | --- | --- |",
          ...ordered(report.findings).map(
            (found) =>
              `| ${found.level} | ${cell(found.key)} | ${found.script.revision} | ${cell(cut(found.detail))} | ${often(found)} |`
          ),
          ""
        ])
  ].join("\n")
