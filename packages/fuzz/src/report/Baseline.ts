/**
 * Known faults of SDKs. A server's author cannot fix them, so reports list them separately.
 *
 * A fault is recognized by the messages in its conversation, never by the server's name. If the author's code breaks the same rule in
 * another way, the finding is still the author's.
 */
import type { Statement } from "../model/Rule.ts"
import type { Line } from "../play/Played.ts"

/** A rule that an SDK breaks, and how to recognize it. */
interface Fault {
  readonly rule: string
  /** Matches the finding's detail. Default: any detail. */
  readonly detail?: RegExp
  /** Patterns that must all match some line of the server in the conversation. */
  readonly signs: ReadonlyArray<RegExp>
}

/** The faults of an SDK, as seen in servers with one tool, one prompt and one resource. */
export interface Baseline {
  readonly sdk: string
  /** The package and version that the faults were seen in. */
  readonly seenIn: string
  /** When they were seen. */
  readonly date: string
  /** Where to report them. */
  readonly issues: string
  readonly faults: ReadonlyArray<Fault>
}

/** Both generations of the TypeScript SDK send the result first, and the id last. */
const resultFirst = /\{"result":\{.*\},"jsonrpc":"2\.0","id":/
/** Error of the SDK's request validation. Errors of the author's schemas have other paths. */
const ownCheck = /"code":-32603,"message":"\[\\n.*\\"path\\": \[\\n *\\"params\\"/
const neverAnswered = /is never answered$/

export const baselines: ReadonlyArray<Baseline> = [
  {
    sdk: "the official TypeScript SDK",
    seenIn: "@modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/server 2.4.0",
    date: "2026-11-28",
    issues: "https://github.com/modelcontextprotocol/typescript-sdk/issues",
    faults: [
      { rule: "batch-answered", detail: /^\S+ in a batch is never answered$/, signs: [resultFirst] },
      { rule: "http-get", signs: [/"message":"Conflict: Only one SSE stream is allowed per session"/] },
      { rule: "malformed-answered", detail: neverAnswered, signs: [resultFirst] },
      { rule: "error-blames-client", signs: [ownCheck] },
      { rule: "set-level-invalid", signs: [ownCheck] },
      { rule: "error-message-short", signs: [ownCheck] },
      { rule: "error-message-short", signs: [/"code":-32602,"message":"Invalid \S+ request: \[\\n/] },
      { rule: "tool-unknown", signs: [resultFirst, /"text":"MCP error -32602: Tool .* not found"/] },
      { rule: "resource-unknown", signs: [resultFirst, /"message":"MCP error -32602: Resource .* not found"/] },
      { rule: "resource-unknown", signs: [resultFirst, /"message":"Resource not found: .*","data":\{"uri":/] }
    ]
  },
  {
    sdk: "the official Python SDK",
    seenIn: "mcp 2.3.0",
    date: "2026-11-28",
    issues: "https://github.com/modelcontextprotocol/python-sdk/issues",
    faults: [
      { rule: "batch-answered", signs: [/Validation error: \d+ validation errors? for union\[JSONRPCRequest,/] },
      { rule: "http-version-mismatch", signs: [/"code":-32600,"message":"Bad Request: Missing session ID"/] },
      { rule: "tool-unknown", signs: [/"content":\[\{"text":"Unknown tool: [^'"][^"]*","type":"text"\}\]/] },
      { rule: "resource-unknown", signs: [/"code":-32602,"message":"Unknown resource: /] }
    ]
  },
  {
    sdk: "FastMCP for Python",
    seenIn: "fastmcp 4.0.10",
    date: "2026-11-28",
    issues: "https://github.com/jlowin/fastmcp/issues",
    faults: [
      { rule: "tool-unknown", signs: [/"content":\[\{"text":"Unknown tool: '[^"]*'","type":"text"\}\]/] },
      { rule: "resource-unknown", signs: [/"code":-32602,"message":"Resource not found: '/] },
      {
        rule: "prompt-missing-argument",
        signs: [/"message":"Error rendering prompt '.*': Missing required arguments: \{/]
      }
    ]
  },
  {
    sdk: "FastMCP for TypeScript",
    seenIn: "fastmcp 4.20.16",
    date: "2026-11-28",
    issues: "https://github.com/punkpeye/fastmcp/issues",
    faults: [
      {
        rule: "resource-unknown",
        signs: [/"message":"MCP error -32601: Resource not found: '.*'\. Available resources: /]
      },
      { rule: "prompt-unknown", signs: [/"message":"MCP error -32601: Unknown prompt: /] },
      { rule: "prompt-missing-argument", signs: [/"message":"MCP error -32600: Prompt '.*' requires argument '/] },
      { rule: "completion-unknown-prompt", signs: [resultFirst, /"code":-32603,"message":"Unknown prompt"/] }
    ]
  },
  {
    sdk: "tmcp",
    seenIn: "tmcp 1.20.0",
    date: "2026-11-28",
    issues: "https://github.com/paoloricciuti/tmcp/issues",
    faults: [
      { rule: "tool-unknown", signs: [/"isError":true,"content":\[\{"type":"text","text":"Tool .* not found"\}\]/] },
      {
        rule: "resource-unknown",
        signs: [/^\{"jsonrpc":"2\.0","id":"[^"]*","result":/, /"message":"MCP error -32602: Resource .* not found"/]
      }
    ]
  }
]

/** The part of a finding by which a known fault is recognized. */
interface Shown {
  readonly detail: string
  readonly lines: ReadonlyArray<Line>
  readonly rule: Statement
}

/** The part of a report that decides whether to look for known faults. */
interface Scope {
  readonly messages?: number | undefined
  /** True if known faults count as findings of the server. */
  readonly strict?: boolean | undefined
  readonly surveys?: ReadonlyArray<unknown> | undefined
}

const shows = ({ detail, signs }: Fault, finding: Shown): boolean =>
  (detail?.test(finding.detail) ?? true) &&
  signs.every((sign) => finding.lines.some(({ from, text }) => from === "server" && sign.test(text)))

/** Returns the SDK whose known fault the finding is, or `undefined` if it is the author's. */
export const sdkOf = (finding: Shown, { messages, strict, surveys }: Scope): Baseline | undefined =>
  // Without a survey or traffic, the report is about a client.
  (surveys === undefined && messages === undefined) || strict === true
    ? undefined
    : baselines.find(({ faults }) => faults.some((fault) => fault.rule === finding.rule.name && shows(fault, finding)))

/** Separates the findings that the author can fix from known faults, by SDK. */
export const split = <F extends Shown>(
  findings: ReadonlyArray<F>,
  report: Scope
): { readonly own: ReadonlyArray<F>; readonly sdks: ReadonlyMap<Baseline, ReadonlyArray<F>> } => {
  const groups = Map.groupBy(findings, (finding) => sdkOf(finding, report))
  const own = groups.get(undefined) ?? []
  const sdks = [...groups].flatMap(([baseline, found]) => (baseline === undefined ? [] : [[baseline, found] as const]))
  return { own, sdks: new Map(sdks) }
}

/** Returns a note about an SDK's known faults and where to report them. */
export const advice = ({ date, issues, sdk, seenIn }: Baseline): string =>
  `Known bugs in ${sdk} that your server inherits (seen in ${seenIn} on ${date}).\nUpgrade the SDK, or report them at ${issues}. They do not fail this command without --strict.`
