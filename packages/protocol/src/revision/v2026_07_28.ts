/**
 * 2026-07-28: the first revision without sessions.
 *
 * New in it: every request declares its revision and capabilities in `_meta`; discovery, subscriptions as one long request, the
 * server's questions inside results. Results have types and caching hints, structured content is of any JSON type, extensions are
 * declared. A missing capability has an error, and a resource that is not found is -32602.
 *
 * Gone are the handshake, ping, the request for a log level, subscriptions by resource, polling, core tasks, and requests from server
 * to client.
 */
import type * as Schema from "effect/Schema"
import { lazy } from "../internal/lazy.ts"
import { Declaration } from "../model/Declaration.ts"
import { DiscoverResult } from "../model/Discover.ts"
import { InputRequiredResult } from "../model/Input.ts"
import { RequestParams } from "../model/Meta.ts"
import { AcknowledgedParams, ListenParams, ListenResult } from "../model/Subscriptions.ts"
import type { MethodCodec, Revision } from "./types.ts"
import { cacheable, complete } from "./Complete.ts"
import { lazyCodec, newest, perRevision } from "./PerRevision.ts"
import { codec, methodCodecs, without } from "./MethodCodecs.ts"
import { rules } from "./stateful.ts"

const version = "2026-07-28"
const acknowledged = perRevision(AcknowledgedParams)
const { clientRequests, serverRequests, clientNotifications, serverNotifications } = methodCodecs(newest)
const questions = without(serverRequests, "ping")

/** A method whose result codec is wrapped by `end`, when it is needed. */
const ending = <P, R>(
  codec: MethodCodec<P, R>,
  end: (result: Schema.Codec<R, unknown>) => Schema.Codec<R, unknown>
): MethodCodec<P, R> => {
  const result = lazy(() => end(codec.result))
  return {
    get params() {
      return codec.params
    },
    get result() {
      return result()
    }
  }
}
const final = <P, R>(codec: MethodCodec<P, R>): MethodCodec<P, R> => ending(codec, complete)
const cached = <P, R>(codec: MethodCodec<P, R>): MethodCodec<P, R> => ending(codec, cacheable)

/** The codec of the declaration in `_meta`, without which a request is malformed. The codecs of params do not check it. */
export const declaration: Schema.Codec<Declaration, unknown> = lazyCodec(perRevision(Declaration))
/** The codec of the result of `tools/call`, `prompts/get` or `resources/read` that asks for input (`ResultType.isInputRequired`). */
export const inputRequired: Schema.Codec<InputRequiredResult, unknown> = lazyCodec(perRevision(InputRequiredResult))

/** The notifications of a server before a revision is agreed on: reading is the same in every one. */
export const earlyNotifications: Revision["serverNotifications"] = serverNotifications

export const revision: Revision = {
  version,
  era: "stateless",
  clientRequests: {
    "server/discover": cached(codec(perRevision(RequestParams), perRevision(DiscoverResult), newest)),
    "subscriptions/listen": final(codec(perRevision(ListenParams), perRevision(ListenResult), newest)),
    "completion/complete": final(clientRequests["completion/complete"]),
    "prompts/get": final(clientRequests["prompts/get"]),
    "prompts/list": cached(clientRequests["prompts/list"]),
    "resources/list": cached(clientRequests["resources/list"]),
    "resources/templates/list": cached(clientRequests["resources/templates/list"]),
    "resources/read": cached(clientRequests["resources/read"]),
    "tools/call": final(clientRequests["tools/call"]),
    "tools/list": cached(clientRequests["tools/list"])
  },
  serverRequests: questions,
  clientNotifications: {
    get "notifications/cancelled"() {
      return clientNotifications["notifications/cancelled"]
    }
  },
  serverNotifications: Object.defineProperty(
    without(serverNotifications, "notifications/elicitation/complete"),
    "notifications/subscriptions/acknowledged",
    { enumerable: true, get: () => newest(acknowledged) }
  ),
  rules: {
    ...rules,
    resourceNotFound: -32602,
    polling: false,
    tasks: false,
    missingCapability: "error",
    anyStructuredContent: true,
    extensions: "extensions"
  }
}
