/**
 * The methods of a server: one row for each, from the method to its handler. `initialize` and `ping` are not among them, since they belong
 * to the session and no middleware sees them.
 *
 * What the specification says of a method (capability, session, questions) is its row of `MethodInfo` in the protocol package; how a
 * revision codes it is in that revision's table. `Dispatcher` joins the three.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { PaginatedParams } from "@effect-mcp/protocol/model/Meta"
import type { ListToolsResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as EncodedLists from "../features/EncodedLists.ts"
import type { Features } from "../features/Features.ts"
import {
  empty,
  type MethodHandler,
  inSession,
  type MethodOptions,
  pageOf,
  type MethodRows,
  type BaseMethod
} from "../features/methodRows.ts"

type AnyRows = Partial<MethodRows<keyof Method.ClientRequests>>
type AnyRow = NonNullable<AnyRows[keyof AnyRows]>

export interface Options extends MethodOptions {
  readonly features: Features
}

/** The methods that a server has now: of each row there is one. */
export class MethodTable {
  private readonly options: Options
  private readonly rows = new Map<string, AnyRow>()
  private hasOthers = false

  constructor(options: Options) {
    this.options = options
    this.add(ownMethods(options))
  }

  add(rows: AnyRows): void {
    for (const [method, row] of Object.entries(rows)) this.rows.set(method, row)
  }

  /** Undefined for a method that the server does not have. */
  row(method: string): AnyRow | undefined {
    const { others } = this.options.features
    if (!this.hasOthers && others !== undefined) {
      this.hasOthers = true
      this.add(others.methods(this.options))
    }
    return this.rows.get(method)
  }
}

/** The methods of every server. */
const ownMethods = ({ features, pageSize }: Options): MethodRows<BaseMethod> => {
  const { tools } = features
  return {
    "tools/list": {
      handle: listTools(features, pageSize),
      cacheHint: "tools",
      variesByCaller: () => tools.isRestricted()
    },
    "tools/call": { handle: (params, request) => tools.call(params, request) },
    // The oldest revision has it without a declaration.
    "completion/complete": {
      handle: (params, request) => Effect.flatMap(features.open, ({ complete }) => complete(params, request))
    },
    "logging/setLevel": {
      handle: ({ level }, request) =>
        inSession(request, (session) => {
          session.logLevel = level
          return session.change(empty)
        })
    }
  }
}

/** The first page is one object for as long as the list is one array, so that its text is encoded once. */
const listTools = ({ tools }: Features, pageSize: number): MethodHandler<"tools/list"> => {
  const firstPages = new WeakMap<ReadonlyArray<Tool>, ListToolsResult>()
  const page = <R>(
    all: Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, R>,
    params: PaginatedParams | undefined
  ) =>
    pageOf(
      all,
      ({ name }) => name,
      params,
      pageSize,
      (tools) => ({ tools })
    )
  const firstPage = (items: ReadonlyArray<Tool>): Effect.Effect<ListToolsResult, McpError.McpError> => {
    const known = firstPages.get(items)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.mapEager(page(Effect.succeed(items), undefined), (result) => {
      firstPages.set(items, result)
      return EncodedLists.share(result)
    })
  }
  return (params, request) =>
    params?.cursor === undefined
      ? Effect.flatMapEager(tools.list(request), firstPage)
      : page(tools.list(request), params)
}
