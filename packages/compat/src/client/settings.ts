/** Options of the underlying client. */
import type * as Effective from "@effect-mcp/client/Client"
import * as Revision from "@effect-mcp/protocol/Revision"
import { plain } from "../model/plain.ts"
import type { Implementation } from "../model/types.ts"
import type { Handlers } from "./Handlers.ts"
import type { ClientOptions, ConnectOptions } from "./Options.ts"

type Mode = NonNullable<ClientOptions["versionNegotiation"]>["mode"]

/** Returns the revisions that a client may speak. The default, as in the SDK, is the revisions with a handshake. */
const revisionsOf = (mode: Mode = "legacy"): Effective.Options["revisions"] => {
  if (mode === "auto") return undefined
  const pinned = typeof mode === "object" ? mode.pin : undefined
  return Revision.all.flatMap(({ era, version }) =>
    (pinned === undefined ? era === "stateful" : version === pinned) ? [version] : []
  )
}

/** Returns the negotiation mode. A server that is known beforehand overrides the client's own setting. */
const modeOf = ({ versionNegotiation }: ClientOptions, { prior }: ConnectOptions): Mode => {
  if (prior === undefined) return versionNegotiation?.mode
  return prior.kind === "legacy" ? "legacy" : { pin: "2026-07-28" }
}

export const settingsOf = (
  info: Implementation,
  options: ClientOptions,
  connecting: ConnectOptions,
  handlers: Handlers
): Effective.Options => ({
  ...plain<Pick<Effective.Options, "experimental" | "extensions" | "clientInfo">>({
    clientInfo: info,
    experimental: options.capabilities?.experimental,
    extensions: options.capabilities?.extensions
  }),
  revisions: revisionsOf(modeOf(options, connecting)),
  timeout: connecting.timeout,
  reconnect: false,
  tasks: false,
  validateOutput: true,
  listsTools: false,
  onAnnouncement: ({ method, params }) => handlers.notified(method, params),
  onUnknownNotification: ({ method, params }) => handlers.notified(method, params)
})
