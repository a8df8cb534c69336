/**
 * Reads a server's contract from its registries, without a request.
 *
 * Calls no handlers and doesn't fix any capability. It does call `visible`, settings that depend on the caller, and mounted servers' lists.
 */
import { type AnyValueCodec, codecSchema } from "@effect-mcp/core/internal/codecs"
import type { Any, Request } from "@effect-mcp/core/Extension"
import { deferred } from "@effect-mcp/core/internal/handlers"
import * as Log from "@effect-mcp/core/Log"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import type { Features, OfferedList } from "../features/Features.ts"
import type { Contract } from "./Contract.ts"

export interface ContractOptions {
  /** The principal whose view of the server to read. Anonymous by default. */
  readonly principal?: Principal["Service"] | undefined
}

interface ContractSource {
  readonly name: string
  readonly instructions: string | undefined
  /** Settings for extensions that have no layer. */
  readonly extensions: ServerCapabilities["extensions"]
  /** Supported revisions, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  readonly features: Features
}

type ExtensionContract = Contract["extensions"][number]

const sorted = <A>(items: ReadonlyArray<A>, key: (item: A) => string): ReadonlyArray<A> =>
  items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))

/** Creates a request context for mounted servers' lists, because there is no request. */
const contextOf = (principal: Principal["Service"], revision: Revision.Revision, method: string) =>
  Context.make(Principal, principal).pipe(
    Context.add(Log.Log, Log.none),
    Context.add(RequestContext, {
      id: "contract",
      method,
      revision,
      sessionId: undefined,
      clientInfo: undefined,
      clientCapabilities: {},
      meta: {},
      envelope: { principal },
      http: undefined,
      outbound: {
        notify: () => {},
        ready: Effect.void,
        isRead: () => false,
        left: Effect.void,
        closing: Effect.never,
        connection: undefined
      },
      closeStream: () => {}
    })
  )

const schemaIn = (codec: AnyValueCodec): JsonObject => codecSchema("A schema of an extension", codec)()

const methodsOf = (requests: { readonly [name: string]: Request<unknown, unknown, unknown> }) =>
  sorted(
    Object.values(requests).map(({ failure, failureCode, method, params, result }) => ({
      method,
      params: schemaIn(params),
      result: schemaIn(result),
      ...(failure === undefined ? undefined : { failure: schemaIn(failure), failureCode })
    })),
    ({ method }) => method
  )

const extensionOf = (
  {
    id,
    meta,
    notifications,
    questions,
    requests,
    subscriptions
  }: Pick<Any, "id" | "meta" | "notifications" | "questions" | "requests" | "subscriptions">,
  settings: JsonObject
): ExtensionContract => ({
  id,
  settings,
  requests: methodsOf(requests),
  questions: methodsOf(questions),
  notifications: sorted(
    Object.values<Any["notifications"][string]>(notifications).map(({ from, method, params }) => ({
      method,
      from,
      params: schemaIn(params)
    })),
    ({ method }) => method
  ),
  subscriptions: sorted(
    Object.values<Any["subscriptions"][string]>(subscriptions).map(({ filter, key }) => ({
      key,
      filter: schemaIn(filter)
    })),
    ({ key }) => key
  ),
  ...(Object.keys(meta).length === 0 ? undefined : { meta: metaOf(meta) })
})

const metaOf = (meta: Any["meta"]) =>
  sorted(
    Object.values<Any["meta"][string]>(meta).map(({ key, value }) => ({ key, value: schemaIn(value) })),
    ({ key }) => key
  )

const bare = { meta: {}, notifications: {}, questions: {}, requests: {}, subscriptions: {} }

const extensionsOf = ({ extensions = {}, features, revisions }: ContractSource, principal: Principal["Service"]) =>
  Effect.map(features.extensions.offered(principal, revisions), (offered) => {
    const declared = Object.entries(extensions).map(([id, settings]) => extensionOf({ id, ...bare }, settings))
    const own = offered.map(({ contract, settings }) => extensionOf(contract, settings))
    const all = new Map([...declared, ...own].map((extension) => [extension.id, extension]))
    return sorted([...all.values()], ({ id }) => id)
  })

/** Reads the contract. Middleware is not called, so items that middleware would remove from lists are included. */
export const readContract = (
  source: ContractSource,
  { principal = anonymous }: ContractOptions = {}
): Effect.Effect<Contract, McpError.McpError> => {
  const { features, instructions, name, revisions } = source
  const revision = revisions.at(-1) ?? Revision.latestStateful
  const listed = (name: ListName, { items, registered }: OfferedList<object>) => {
    const { key, method } = lists[name]
    return Effect.map(
      Effect.scoped(Effect.provideContext(registered ?? items(deferred), contextOf(principal, revision, method))),
      (all) => sorted(all, (item) => String(Reflect.get(item, key)))
    )
  }
  return Effect.gen(function* () {
    const offered: Record<string, ReadonlyArray<object>> = {}
    for (const name of Struct.keys(lists)) offered[name] = yield* listed(name, features.lists[name])
    return {
      name,
      ...(instructions === undefined ? undefined : { instructions }),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each list has the items of its name
      ...(offered as Pick<Contract, ListName>),
      extensions: yield* extensionsOf(source, principal)
    }
  })
}
