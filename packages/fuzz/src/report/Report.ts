/** Search reports for people and for machines: text, JSON, JUnit, and Markdown for a job summary. */
import * as Schema from "effect/Schema"
import { Script } from "../model/Script.ts"
import { Survey } from "../model/Survey.ts"
import type { Statement } from "../model/Rule.ts"
import type { RuleCount } from "../model/Tally.ts"
import type { Line } from "../play/Played.ts"
import { confirmations, type Finding, type SearchOutcome } from "../search/Search.ts"
import { cell, columns, cut, safe, xml } from "./Escaping.ts"
import { advice, sdkOf, split } from "./Baseline.ts"
import { applies, standingOf } from "./Standing.ts"
import type { Report } from "../search/ServerSearch.ts"

export { quoted } from "./Escaping.ts"

/** A finding in file format. Contains everything needed to replay it. */
export const Recording = Schema.Struct({
  /** Identifies the finding. */
  key: Schema.String,
  detail: Schema.String,
  /** Display name of the server that showed the finding. */
  target: Schema.String,
  script: Script,
  /** Survey of the server at that time. */
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

/** Returns a distinct file name for each recording. The names are safe on every file system and can't escape the directory. */
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

/** True if CI should fail. By default, it fails for every confirmed violation that isn't a known SDK fault. */
export const fails = (report: Searched, level: "MUST" | "SHOULD" | "robustness" = "robustness"): boolean =>
  report.lost !== undefined ||
  split(report.findings, report).own.some((finding) => levels.indexOf(finding.level) <= levels.indexOf(level))

/** Sorts findings by level, strongest first, then by revision, newest first. */
export const ordered = <F extends AnyFinding>(findings: ReadonlyArray<F>): ReadonlyArray<F> =>
  findings.toSorted(
    (one, two) =>
      levels.indexOf(one.level) - levels.indexOf(two.level) ||
      (one.script.revision === two.script.revision ? 0 : one.script.revision < two.script.revision ? 1 : -1)
  )

export type AnyFinding = Finding<{ readonly revision: string }>

/** Formats a conversation with one message per line. Control characters are escaped. */
export const conversation = (lines: ReadonlyArray<Line>): string =>
  lines
    .map(({ beside, from, text }) => `${(from === "client" ? ">" : "<").repeat(beside ? 2 : 1)} ${safe(cut(text))}`)
    .join("\n")

/** Returns the URL of a specification section in a revision. */
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
  if (times !== undefined) return "The messages around the first one"
  return isCut === true
    ? "A conversation that shows it (time ran out before all shorter ones were tried)"
    : "The shortest conversation"
}

const of = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

const indent = (text: string, by: string): string => text.replace(/^/gm, by)

/** Formats a finding as a single line for the terminal. */
export const headline = ({ key, level, script }: AnyFinding): string => `${level}  ${safe(key)}  (${script.revision})`

/** Optional parts of a report. */
export interface TextOptions {
  /** Returns the command that replays a finding. Default: no command is shown. */
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
    ...[replay?.(found)].flatMap((command) => (command === undefined ? [] : [`  Replay it: ${safe(command)}`]))
  ].join("\n")
}

/** The result of a search. A server search includes surveys, and a traffic check includes the number of messages. */
export type Searched = SearchOutcome<{ readonly revision: string }> & {
  readonly surveys?: ReadonlyArray<Survey>
  readonly messages?: number
  readonly command?: "diff" | "check"
  /** Whether to count known SDK faults as findings about the server. Default false. */
  readonly strict?: boolean | undefined
  readonly unstable?: ReadonlyArray<string>
}

const commandOf = ({ command, messages, surveys }: Searched): string =>
  command ?? (messages !== undefined ? "judge" : surveys === undefined ? "fuzz-client" : "fuzz")

const summary = (report: Searched): string => {
  const found = report.findings
  const { own } = split(found, report)
  const count = (level: string) => own.filter((finding) => finding.level === level).length
  const inherited = found.length === own.length ? "" : `; ${of(found.length - own.length, "known bug")} in the SDK`
  const exercised = report.rules.filter(({ broken, kept }) => broken + kept > 0)
  const [seconds, { messages }] = [(report.milliseconds / 1000).toFixed(1), report]
  const talks = of(report.conversations, "conversation")
  const per =
    messages === undefined
      ? `${talks} in ${seconds} s, seed ${report.seed}`
      : `${of(messages, "message")} in ${talks}, ${seconds} s`
  if (report.command === "diff") return `${per}: ${of(count("difference"), "difference")}`
  return `${per}: ${count("MUST")} MUST, ${count("SHOULD")} SHOULD, ${count("robustness")} robustness${inherited}; ${exercised.length} of ${report.rules.length} rules exercised`
}

/** Returns a table of the broken rules by revision, with the number of violations and of checks. */
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

/** Lists the findings that come from a server's SDK, one line per SDK. */
export const inherited = (report: Searched): ReadonlyArray<string> =>
  [...split(report.findings, report).sdks].map(([baseline, found]) => {
    const names = [...new Set(ordered(found).map(({ key, level }) => `${level}  ${safe(key)}`))]
    const lines = names.map((name) => {
      const revisions = found.flatMap(({ key, level, script }) =>
        name === `${level}  ${safe(key)}` ? [script.revision] : []
      )
      return `  ${name}  (${[...new Set(revisions)].join(", ")})`
    })
    return [advice(baseline), ...lines].join("\n")
  })

/** Formats the report as text. */
export const text = (report: Searched, { replay }: TextOptions = {}): string => {
  const idle = report.rules.filter(({ broken, kept, rule }) => broken + kept === 0 && applies(rule, report))
  const unstable = report.unstable ?? []
  return [
    safe(report.about),
    ...ordered(split(report.findings, report).own).map((found) => finding(found, replay)),
    ...inherited(report),
    ...(report.command === "diff" ? [] : table(report)),
    summary(report),
    ...(report.lost === undefined ? [] : [`The search ended early: ${safe(report.lost)}`]),
    ...(report.unconfirmed.length === 0
      ? []
      : [`Seen once and not confirmed: ${report.unconfirmed.map(({ key }) => safe(key)).join(", ")}`]),
    ...(unstable.length === 0
      ? []
      : [`Not compared because it differs between two runs of the same server: ${safe(unstable.join(", "))}`]),
    ...(idle.length === 0 || report.messages !== undefined
      ? []
      : [`Not exercised: ${idle.map(({ rule }) => rule.name).join(", ")}`])
  ].join("\n\n")
}

const sdkJson = (found: AnyFinding, report: Searched) => {
  const baseline = sdkOf(found, report)
  return baseline && { sdk: { name: baseline.sdk, seenIn: baseline.seenIn, issues: baseline.issues } }
}

/** Formats the report as JSON. */
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
      ...sdkJson(found, report),
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

/** Formats the report as JUnit XML, with a test case for each rule. A rule that was never exercised is skipped. */
export const junit = (report: Searched): string => {
  const { own, sdks } = split(report.findings, report)
  const names = new Set(own.map(({ rule }) => rule.name))
  const cases = report.rules.map((each) => {
    const { rule } = each
    const open = `    <testcase classname="${xml(rule.level)}" name="${xml(`${rule.name}: ${rule.text}`)}"`
    const failures = own.filter((finding) => finding.rule.name === rule.name)
    if (failures.length > 0) {
      const told = failures.map(
        ({ detail, key, lines }) =>
          `<failure message="${xml(`${key}: ${detail}`)}">${conversation(lines).split("\n").map(xml).join("\n")}</failure>`
      )
      return `${open}>${told.join("")}</testcase>`
    }
    const known = [...sdks].find(([, group]) => group.some((finding) => finding.rule.name === rule.name))
    if (known !== undefined) return `${open}><skipped message="${xml(advice(known[0]))}"/></testcase>`
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

/** Formats the report as Markdown for a GitHub job summary. */
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
              `| ${found.level} | ${cell(found.key)}${sdkOf(found, report) === undefined ? "" : " (a known SDK bug)"} | ${found.script.revision} | ${cell(cut(found.detail))} | ${often(found)} |`
          ),
          ""
        ])
  ].join("\n")
