/** `effect-mcp lint`: reports hosts and model providers that cannot use a server's tools, and how to fix the tools. */
import * as Host from "@effect-mcp/protocol/Host"
import type { HostId, Obstacle, ProviderId, Severity } from "@effect-mcp/protocol/Portability"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { closest } from "@effect-mcp/protocol/internal/closest"
import { annotation } from "../render/Annotation.ts"
import { json } from "../render/Text.ts"
import * as Session from "../session/Session.ts"
import { code, silent, usage } from "../terminal/Exit.ts"
import { safeLine, type Style } from "../terminal/Style.ts"
import { all } from "./Shared.ts"

type Target = HostId | ProviderId

const providers: ReadonlyArray<ProviderId> = ["anthropic", "openai", "gemini"]
const isProvider = (id: string): id is ProviderId => providers.some((provider) => provider === id)

const targetOf = (given: string): Effect.Effect<Target, ReturnType<typeof usage>> => {
  const host = Host.get(given)
  if (host !== undefined) return Effect.succeed(host.id)
  if (isProvider(given)) return Effect.succeed(given)
  const known = [...Host.all.map(({ id }) => id), ...providers]
  const near = closest(given, known)
  const advice = near === undefined ? `The hosts are ${known.join(", ")}` : `Did you mean ${near}?`
  return Effect.fail(usage(`--host: there is no host named ${given}. ${advice}`))
}

/** An obstacle in the JSON output. */
interface Finding extends Obstacle {
  readonly severity: Severity
  readonly subject: string
  readonly mend: string
  readonly evidence: ReadonlyArray<{
    readonly on: Target
    readonly severity: Severity
    readonly source: string
    readonly seen: string
  }>
}

interface Linted {
  readonly tool: string
  readonly findings: ReadonlyArray<Finding>
}

const ranks: { readonly [S in Severity]: number } = { refused: 0, misread: 1, ignored: 2 }

/** Applies the rules to the tools. The rules are loaded on demand. */
const lintedBy = Effect.fnUntraced(function* (
  tools: ReadonlyArray<Tool>,
  targets: ReadonlyArray<Target> | undefined
): Effect.fn.Return<ReadonlyArray<Linted>> {
  const { evidenceFor, obstacles, rules } = yield* Effect.promise(() => import("@effect-mcp/protocol/Portability"))
  return tools.map((tool) => ({
    tool: tool.name,
    findings: obstacles(tool).flatMap((obstacle) => {
      const evidence = evidenceFor(obstacle, targets)
      const [worst] = evidence.toSorted((one, other) => ranks[one.severity] - ranks[other.severity])
      const { mend, subject } = rules[obstacle.rule]
      return worst === undefined ? [] : [{ ...obstacle, severity: worst.severity, subject, mend, evidence }]
    })
  }))
})

const placeOf = ({ at, part }: Obstacle): string => safeLine(at === "" ? part : `${part} ${at}`)

const colourOf = ({ dim, red, yellow }: Style, severity: Severity) =>
  severity === "refused" ? red : severity === "misread" ? yellow : dim

/** Renders a finding: the problem and its place, the affected hosts, the fix, and the sources. */
const findingText = (style: Style, finding: Finding, reactions: string): string =>
  [
    `  ${colourOf(style, finding.severity)(finding.severity.padEnd(7))}  ${placeOf(finding)}`,
    `           ${finding.subject} is ${reactions}. ${finding.mend}.`,
    ...[...new Set(finding.evidence.map(({ seen, source }) => `${source} (${seen})`))].map(
      (line) => `           ${style.dim(line)}`
    )
  ].join("\n")

const levels: { readonly [S in Severity]: "error" | "warning" | "notice" } = {
  refused: "error",
  misread: "warning",
  ignored: "notice"
}

export const lint = Command.make(
  "lint",
  {
    host: Flag.String("host").pipe(
      Flag.withMetavar("HOST,..."),
      Flag.withDescription(
        `Only what concerns these hosts or providers: ${[...Host.all.map(({ id }) => id), ...providers].join(", ")}`
      ),
      Flag.optional
    ),
    github: Flag.Boolean("github").pipe(
      Flag.withDescription("Write annotations of GitHub Actions"),
      Flag.withDefault(false),
      Flag.withoutNegation
    )
  },
  Effect.fnUntraced(function* ({ github, host }) {
    const words = Option.map(host, (given) => given.split(",").map((word) => word.trim()))
    const targets = Option.isNone(words) ? undefined : yield* Effect.forEach(words.value, targetOf)
    return yield* Session.use(
      Effect.fnUntraced(function* ({ client, output, settings }) {
        const tools = yield* all(client.listTools)
        const linted = yield* lintedBy(tools, targets)
        const { reactions } = yield* Effect.promise(() => import("@effect-mcp/protocol/Portability"))
        const found = linted.filter(({ findings }) => findings.length > 0)
        const blocked = found.filter(({ findings }) => findings.some(({ severity }) => severity !== "ignored"))
        if (settings.json) yield* output.line(json(linted))
        else if (github) {
          for (const { findings, tool } of found) {
            for (const finding of findings) {
              const message = `${placeOf(finding)}: ${finding.subject} is ${reactions(finding.evidence)}. ${finding.mend}.`
              yield* output.line(annotation(levels[finding.severity], `tool ${safeLine(tool)}`, message))
            }
          }
        } else {
          for (const { findings, tool } of found) {
            const lines = findings.map((finding) => findingText(output.style, finding, reactions(finding.evidence)))
            yield* output.line([output.style.bold(safeLine(tool)), ...lines, ""].join("\n"))
          }
        }
        yield* output.note(summary(tools.length, blocked.length))
        yield* blocked.length === 0 ? Effect.void : silent(code.server)
      })
    )
  })
).pipe(
  Command.withDescription(
    "Check which hosts cannot use a server's tools. Exit code 1 if a host refuses or misreads one of them"
  ),
  Command.withShortDescription("Check which hosts cannot use the tools"),
  Command.withExamples([
    { command: "effect-mcp lint -- node server.js", description: "Every host" },
    { command: "effect-mcp lint --host claude-code,cursor -- https://example.com/mcp", description: "Two hosts" },
    { command: "effect-mcp lint --github -- python server.py", description: "In GitHub Actions" }
  ])
)

const summary = (all: number, blocked: number): string =>
  blocked === 0
    ? `${all} tools, and every host can use them`
    : `${blocked} of ${all} tools are missing or misunderstood in some host`
