/**
 * What a server says of itself: its name and instructions, the revisions that it serves, and the capabilities that follow from its
 * features.
 */
import type { Caller } from "@effect-mcp/core/Extensions"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Validate from "@effect-mcp/protocol/Validate"
import type * as Effect from "effect/Effect"
import * as Features from "../features/Features.ts"

export interface Options {
  /** The name for programs; user interfaces show `title`. */
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly websiteUrl?: string | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  /** Tells the model how to use this server. */
  readonly instructions?: string | undefined
  /** The revisions to serve. Default: all. */
  readonly revisions?: ReadonlyArray<Revision.Version> | undefined
  /** Declares tools, resources (with subscriptions), prompts and completions before any is registered. Default false. */
  readonly dynamic?: boolean | undefined
  readonly experimental?: ServerCapabilities["experimental"]
  /** Settings by the prefixed id of the extension. */
  readonly extensions?: ServerCapabilities["extensions"]
  /**
   * Methods that need a session, as `resources/subscribe`, where there is none: not declared and `refused` by -32601, or given to the
   * middleware, where `next` fails with -32601. For programs that answer them by themselves. Default `refused`.
   */
  readonly sessionMethods?: "refused" | "middleware" | undefined
}

export interface ServerInfo {
  readonly implementation: Implementation
  readonly instructions: string | undefined
  /** Fixed by the first call: what a client was told must stay true. */
  readonly capabilities: () => ServerCapabilities
  /** The same with the extensions that are offered to a caller. */
  readonly capabilitiesOf: (caller: Caller) => Effect.Effect<ServerCapabilities>
  /** The revisions that are served, of both eras, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** What becomes of requests that need a session where there is none. */
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

/** The versions that are served, newest first. */
export const supportedVersions = ({ revisions }: ServerInfo): ReadonlyArray<Revision.Version> =>
  revisions.map(({ version }) => version).toReversed()

/** Whether the server opens sessions: it serves a revision that has them. */
export const hasSessions = ({ revisions }: ServerInfo): boolean => revisions.some(({ era }) => era === "stateful")
