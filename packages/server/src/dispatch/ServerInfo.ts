/** The server's description: its name, instructions and supported revisions, and the capabilities that follow from its features. */
import type { Caller } from "@effect-mcp/core/Extensions"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Validate from "@effect-mcp/protocol/Validate"
import type * as Effect from "effect/Effect"
import * as Features from "../features/Features.ts"

export interface Options {
  /** Name for use by programs. User interfaces show `title`. */
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly websiteUrl?: string | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  /** Instructions that tell the model how to use this server. */
  readonly instructions?: string | undefined
  /** Revisions to support. Default: all. */
  readonly revisions?: ReadonlyArray<Revision.Version> | undefined
  /**
   * Whether to declare tools, resources (with subscriptions), prompts and completions even before any of them are registered. Default
   * false.
   */
  readonly dynamic?: boolean | undefined
  readonly experimental?: ServerCapabilities["experimental"]
  /** Settings by prefixed extension ID. */
  readonly extensions?: ServerCapabilities["extensions"]
  /**
   * How to handle methods that need a session, such as `resources/subscribe`, when there is none. `refused` doesn't declare them and
   * responds with -32601. `middleware` passes them to middleware, and `next` fails with -32601; use it if your program handles these
   * methods itself. Default `refused`.
   */
  readonly sessionMethods?: "refused" | "middleware" | undefined
}

export interface ServerInfo {
  readonly implementation: Implementation
  readonly instructions: string | undefined
  /** Fixed by the first call, because a declaration sent to a client must stay true. */
  readonly capabilities: () => ServerCapabilities
  /** The same capabilities, plus the extensions offered to a caller. */
  readonly capabilitiesOf: (caller: Caller) => Effect.Effect<ServerCapabilities>
  /** All supported revisions, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** How to handle requests that need a session when there is none. */
  readonly sessionMethods: "refused" | "middleware"
}

export const make = (options: Options, features: Features.Features): ServerInfo => {
  const { dynamic = false, experimental, extensions, instructions, sessionMethods = "refused" } = options
  let declared: ServerCapabilities | undefined
  const capabilities = () => (declared ??= Features.capabilities(features, { dynamic, experimental, extensions }))
  return {
    implementation: implementationOf(options),
    instructions,
    sessionMethods,
    revisions: Revision.all.filter(
      ({ version }) => options.revisions === undefined || options.revisions.includes(version)
    ),
    capabilities,
    capabilitiesOf: (caller) => features.extensions.declared(capabilities(), caller)
  }
}

const implementationOf = ({ name, version, title, description, websiteUrl, icons }: Options): Implementation => ({
  name,
  version,
  ...(title === undefined ? undefined : { title }),
  ...(description === undefined ? undefined : { description }),
  ...(websiteUrl === undefined ? undefined : { websiteUrl }),
  ...(icons === undefined ? undefined : { icons: Validate.icons(`Server ${name}`, icons) })
})

/** Returns the supported versions, newest first. */
export const supportedVersions = ({ revisions }: ServerInfo): ReadonlyArray<Revision.Version> =>
  revisions.map(({ version }) => version).toReversed()

/** True if the server opens sessions, because it supports a revision that has them. */
export const hasSessions = ({ revisions }: ServerInfo): boolean => revisions.some(({ era }) => era === "stateful")
