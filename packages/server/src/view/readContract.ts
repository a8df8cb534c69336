/**
 * Reads the contract of a server from its registries, without a request.
 *
 * Calls no handler and fixes no capability. What runs: `visible`, settings that are functions of the caller, lists of mounted servers.
 */
import { codecSchema } from "@effect-mcp/core/internal/codecSchema"
import type { AnyValueCodec } from "@effect-mcp/core/internal/ValueCodec"
import type { Any, Request } from "@effect-mcp/core/Extension"
import { deferred } from "@effect-mcp/core/internal/HandlerContext"
import * as Log from "@effect-mcp/core/Log"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import { type QueryServices, RequestContext } from "@effect-mcp/core/RequestContext"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Features } from "../features/Features.ts"
import type { Contract } from "./Contract.ts"

export interface ContractOptions {
  /** Whose contract it is: what this principal sees. Default: what an anonymous one sees. */
  readonly principal?: Principal["Service"] | undefined
}

export interface ContractSource {
  readonly name: string
  readonly instructions: string | undefined
  /** The settings of extensions that have no layer. */
  readonly extensions: ServerCapabilities["extensions"]
  /** The revisions that are served, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  readonly features: Features
}

type ExtensionContract = Contract["extensions"][number]

const sorted = <A>(items: ReadonlyArray<A>, key: (item: A) => string): ReadonlyArray<A> =>
  items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))

/** What the lists of mounted servers read of a request: there is none. */
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

/** Middleware is not called: what it takes out of lists is in the contract. */
export const readContract = (
  source: ContractSource,
  { principal = anonymous }: ContractOptions = {}
): Effect.Effect<Contract, McpError.McpError> => {
  const { features, instructions, name, revisions } = source
  const revision = revisions.at(-1) ?? Revision.latestStateful
  const listed = <A>(method: string, list: Effect.Effect<ReadonlyArray<A>, McpError.McpError, QueryServices>) =>
    Effect.scoped(Effect.provideContext(list, contextOf(principal, revision, method)))
  const lists = Effect.all([
    listed("tools/list", features.tools.list(deferred)),
    listed("prompts/list", features.prompts.list),
    listed("resources/list", features.resources.registered),
    listed("resources/templates/list", features.resources.templates),
    extensionsOf(source, principal)
  ])
  return Effect.map(lists, ([tools, prompts, resources, templates, extensions]) => ({
    name,
    ...(instructions === undefined ? undefined : { instructions }),
    tools: sorted(tools, ({ name }) => name),
    prompts: sorted(prompts, ({ name }) => name),
    resources: sorted(resources, ({ uri }) => uri),
    templates: sorted(templates, ({ uriTemplate }) => uriTemplate),
    extensions
  }))
}
