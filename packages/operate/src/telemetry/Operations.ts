/** Request durations by method, target, error, revision and transport. */
import { errorTypeOf, transportAttributes } from "@effect-mcp/core/internal/peers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import type { MetricInfo } from "./Names.ts"
import { type Measured, Series, type SeriesLimit } from "./Series.ts"

/** Replaces unknown text from the other side, which would otherwise create a new series for each value. */
export const other = "_OTHER"

const known = new Set<string>([
  ...Object.keys(MethodInfo.clientRequests),
  ...Object.keys(MethodInfo.serverRequests),
  ...Object.keys(MethodInfo.clientNotifications),
  ...Object.keys(MethodInfo.serverNotifications)
])

/** Maximum number of distinct extension methods, and of distinct tool and prompt names. */
const most = 1000

/** Names known to be real, because a request that used them succeeded. */
class KnownNames {
  private readonly names = new Set<string>()

  /** Returns the name if it was already known, or becomes known now. */
  see(name: string, succeeded: boolean): string | undefined {
    if (this.names.has(name)) return name
    if (!succeeded || this.names.size >= most) return undefined
    this.names.add(name)
    return name
  }
}

const attributes = [
  "mcp.method.name",
  "mcp.protocol.version",
  "network.transport",
  "network.protocol.name",
  "gen_ai.operation.name",
  "error.type",
  "rpc.response.status_code",
  "gen_ai.tool.name",
  "gen_ai.prompt.name"
]
/** Maximum length of a name in an attribute. */
const longest = 256
/** First attribute to omit when there are too many series. */
const droppable = attributes.indexOf("error.type")

/** Session attributes. */
export const sessionAttributes = ["mcp.protocol.version", "network.transport", "network.protocol.name"]

export const versionOf = (version: string | undefined): string | undefined =>
  version !== undefined && Revision.get(version) !== undefined ? version : undefined

/** Returns the name of a message's target, if it has one. */
const nameOf = (method: string, params: JsonRpc.Params | undefined): string | undefined => {
  if (method !== "tools/call" && method !== "prompts/get") return undefined
  const name = params?.name
  return typeof name === "string" ? name : undefined
}

const succeeds = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) && !(isJsonObject(exit.value) && exit.value["isError"] === true)

/** Successful requests with the same attributes, and their series. */
class Success {
  private readonly method: string
  private readonly target: string | undefined
  private readonly revision: string | undefined
  private readonly transport: string | undefined
  readonly series: Measured
  /** The next one with the same target, or with the same method and no target. */
  readonly next: Success | undefined

  constructor(
    method: string,
    target: string | undefined,
    revision: string | undefined,
    transport: string | undefined,
    series: Measured,
    next: Success | undefined
  ) {
    this.method = method
    this.target = target
    this.revision = revision
    this.transport = transport
    this.series = series
    this.next = next
  }

  is(method: string, target: string | undefined, revision: string | undefined, transport: string | undefined): boolean {
    return (
      this.target === target && this.transport === transport && this.method === method && this.revision === revision
    )
  }
}

export class Operations {
  /** By target, or by method for requests without a target. */
  private readonly successes = new Map<string, Success>()
  private readonly namesTargets: boolean
  private readonly series: Series
  private readonly methods = new KnownNames()
  private readonly targets = new KnownNames()

  constructor(info: MetricInfo, namesTargets: boolean, limit: SeriesLimit, context: Context.Context<never>) {
    this.series = new Series(info, attributes, droppable, limit, context)
    this.namesTargets = namesTargets
  }

  /** Returns the exit's `error.type`. */
  record(
    method: string,
    params: JsonRpc.Params | undefined,
    revision: string | undefined,
    transport: string | undefined,
    milliseconds: number,
    exit: Exit.Exit<unknown, unknown>
  ): string | undefined {
    const name = this.namesTargets ? nameOf(method, params) : undefined
    if (succeeds(exit)) {
      const known = this.knownOf(method, name, revision, transport)
      if (known !== undefined) {
        known.record(milliseconds / 1000)
        return undefined
      }
    }
    return this.recordSlowly(method, name, revision, transport, milliseconds, exit)
  }

  private knownOf(
    method: string,
    target: string | undefined,
    revision: string | undefined,
    transport: string | undefined
  ): Measured | undefined {
    let one = this.successes.get(target ?? method)
    while (one !== undefined && !one.is(method, target, revision, transport)) one = one.next
    return one?.series
  }

  private recordSlowly(
    method: string,
    name: string | undefined,
    revision: string | undefined,
    transport: string | undefined,
    milliseconds: number,
    exit: Exit.Exit<unknown, unknown>
  ): string | undefined {
    const error = errorTypeOf(exit)
    const succeeded = error === undefined || error === "tool_error"
    const isTool = method === "tools/call"
    const target = name === undefined || name.length > longest ? undefined : this.targets.see(name, succeeded)
    const shown = known.has(method) ? method : (this.methods.see(method, succeeded) ?? other)
    const version = versionOf(revision)
    const network = transportAttributes(transport)
    const series = this.series.seriesOf([
      shown,
      version,
      network["network.transport"],
      network["network.protocol.name"],
      isTool ? "execute_tool" : undefined,
      error,
      error !== undefined && error.startsWith("-") ? error : undefined,
      isTool ? target : undefined,
      isTool ? undefined : target
    ])
    series.record(milliseconds / 1000)
    // Only keys from known attributes are stored, so the other side cannot make this grow.
    if (error === undefined && shown === method && target === name && version === revision) {
      const key = name ?? method
      this.successes.set(key, new Success(method, name, revision, transport, series, this.successes.get(key)))
    }
    return error
  }
}
