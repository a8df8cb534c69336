/** A host's abilities, and their names on the wire. */
import { effectOf } from "@effect-mcp/core/internal/calling"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type * as Effect from "effect/Effect"
import type { DisplayMode, HostCapabilities, HostContext } from "../view/types.ts"
import type { ViewLimits } from "./Bounds.ts"
import type { LogMessage, ModelContext, Size } from "./Messages.ts"

/** A file that a view wants to save. */
export interface SavedFile {
  /** The file's name, without folders. */
  readonly name: string
  readonly mimeType: string | undefined
  readonly data: string | Uint8Array
}

/** A message that passed between a host and a view. */
export interface PassedMessage {
  /** URI of the view. */
  readonly view: string
  readonly from: "host" | "view"
  /** The message, or its text if it was rejected. */
  readonly message: unknown
  /** The reason why the host ignored or rejected the message, if it did. */
  readonly refused: string | undefined
}

/**
 * A host's options. An ability without a handler is not offered to views. Handlers receive the view's URI as their last argument. A failure
 * is reported to the view without its details.
 */
export interface Options {
  /** Name and version to report to views. Default: this library's. */
  readonly hostInfo?: Implementation | undefined
  /** Context for new views. Default: empty. */
  readonly context?: HostContext | undefined
  /** Opens an `http:` or `https:` URL in the user's browser. */
  readonly openLink?: ((url: string, view: string) => Effect.Effect<void, unknown>) | undefined
  /** Adds a message from the user to the conversation. */
  readonly sendMessage?:
    | ((content: ReadonlyArray<ContentBlock>, view: string) => Effect.Effect<void, unknown>)
    | undefined
  /** Remembers context for the model's next turn, in place of the view's previous context. */
  readonly updateModelContext?: ((context: ModelContext, view: string) => Effect.Effect<void, unknown>) | undefined
  /** Saves a file. */
  readonly download?: ((file: SavedFile, view: string) => Effect.Effect<void, unknown>) | undefined
  /** Changes the display mode and returns the mode that the view now has. Only called with a mode that the view supports. */
  readonly changeMode?: ((mode: DisplayMode, view: string) => Effect.Effect<DisplayMode>) | undefined
  /**
   * Decides whether a view may reach the origins on this machine or in a private network that its policy names. Only `true` allows them.
   * Default: it may not, because a server elsewhere could use a view to reach the user's own services.
   */
  readonly allowLocal?: ((origins: ReadonlyArray<string>, view: string) => Effect.Effect<boolean>) | undefined
  /** Called when the size of a view's content changes. */
  readonly resized?: ((size: Size, view: string) => Effect.Effect<void>) | undefined
  /** Called with each log message from a view. */
  readonly logged?: ((message: LogMessage, view: string) => Effect.Effect<void>) | undefined
  /** Called with each message in both directions. Must not block. */
  readonly observe?: ((passed: PassedMessage) => void) | undefined
  readonly limits?: Partial<ViewLimits> | undefined
}

/** Returns the capabilities that the options declare to views. */
export const capabilitiesOf = (options: Options): HostCapabilities => ({
  serverTools: { listChanged: true },
  serverResources: { listChanged: true },
  ...(options.openLink && { openLinks: {} }),
  ...(options.download && { downloadFile: {} }),
  ...(options.logged && { logging: {} }),
  ...(options.sendMessage && { message: { text: {}, image: {}, audio: {}, resource: {}, resourceLink: {} } }),
  ...(options.updateModelContext && {
    updateModelContext: { text: {}, image: {}, audio: {}, resource: {}, resourceLink: {}, structuredContent: {} }
  })
})

/** Calls one of the program's handlers. In JavaScript, it may throw or not return an effect, which is a defect. */
export const called = <A, E>(handler: () => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  effectOf("An AppHost handler", handler)
