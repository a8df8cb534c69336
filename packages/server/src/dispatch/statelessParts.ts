/** What makes the stateless era of a server, and the methods that only that era has. */
import type * as Method from "@effect-mcp/protocol/Method"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { Features } from "../features/Features.ts"
import type { MethodHandler, MethodRows, StatelessMethod } from "../features/methodRows.ts"
import type { Limits } from "../Limits.ts"
import { InputRounds, type Options as RoundOptions } from "../mrtr/InputRounds.ts"
import * as AeadSeal from "../mrtr/AeadSeal.ts"
import type { ReplayGuard } from "../mrtr/ReplayGuard.ts"
import type { StateSeal } from "../mrtr/StateSealService.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { ChangeNotifier } from "../session/ChangeNotifier.ts"
import type { MethodTable } from "./methods.ts"
import * as OwnSubscriptions from "./OwnSubscriptions.ts"
import { type ServerInfo, supportedVersions } from "./ServerInfo.ts"
import * as StatelessEra from "./StatelessEra.ts"
import { listen } from "./SubscriptionsListen.ts"

export interface Options extends Omit<StatelessEra.Options, "rounds"> {
  readonly methods: MethodTable
  readonly limits: Limits
  /** The open `subscriptions/listen` requests. */
  readonly listeners: Set<ChangeNotifier>
  /** Default: one with a key of this process, made by the first request that needs it. */
  readonly seal: StateSeal["Service"] | undefined
  readonly guard: ReplayGuard["Service"] | undefined
  readonly rounds: RoundOptions | undefined
}

export const statelessEra = ({
  guard,
  limits,
  listeners,
  methods,
  rounds,
  seal,
  ...options
}: Options): StatelessEra.StatelessEra => {
  const { features, info } = options
  methods.add(methodsOf({ features, info, limits, listeners }))
  const { name } = info.implementation
  const sealing = seal === undefined ? AeadSeal.shared() : Effect.succeed(seal)
  return new StatelessEra.StatelessEra({ ...options, rounds: new InputRounds(name, sealing, guard, rounds) })
}

interface MethodOptions {
  readonly features: Features
  readonly info: ServerInfo
  readonly limits: Limits
  readonly listeners: Set<ChangeNotifier>
}

const methodsOf = (options: MethodOptions): MethodRows<StatelessMethod> => {
  const { features, info } = options
  return {
    "server/discover": {
      handle: (_params, request) => discover(info, request),
      cacheHint: "discover",
      variesByCaller: () => features.others?.extensions.isSameForAll(discovering) === false
    },
    "subscriptions/listen": { handle: subscriptionsListen(options) }
  }
}

/** The revisions that have `server/discover`. */
const discovering = Revision.all.filter((revision) => revision.clientRequests["server/discover"] !== undefined)

const discover = (
  info: ServerInfo,
  { eraContext, principal }: ServerRequest
): Effect.Effect<Method.ClientRequests["server/discover"]["result"]> => {
  const { context, duplex } = eraContext
  return Effect.mapEager(info.capabilitiesOf({ principal, revision: context.revision, duplex }), (capabilities) => ({
    supportedVersions: supportedVersions(info),
    capabilities,
    ...(info.instructions === undefined ? undefined : { instructions: info.instructions })
  }))
}

const none = Effect.succeed([])

const subscriptionsListen =
  ({ features, info, limits, listeners }: MethodOptions): MethodHandler<"subscriptions/listen"> =>
  (params, request) => {
    const { extensions, resources } = features.others ?? {}
    const { closing, context, duplex, holder } = request.eraContext
    const { clientCapabilities: capabilities, revision } = context
    const caller = { principal: request.principal, revision, duplex }
    const own =
      extensions === undefined
        ? none
        : OwnSubscriptions.grant(extensions, params.notifications, caller, { capabilities, revision })
    const listening = { resources, capabilities: info.capabilities(), own, listeners, closing, limits, holder }
    return request.withCaller((principal) => listen(listening, request.received, principal, params))
  }
