/** A view's types: tools as JSON, a host's description, and a view's events. */
import type { ValueCodec } from "@effect-mcp/core/Tool"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"

/** The JSON form of a value: dates are strings, and functions are gone. */
export type JsonOf<A> = A extends string | number | boolean | null | undefined
  ? A
  : A extends { toJSON: () => infer J }
    ? JsonOf<J>
    : A extends (...args: never) => unknown
      ? never
      : A extends ReadonlyArray<infer I>
        ? ReadonlyArray<JsonOf<I>>
        : A extends object
          ? { readonly [K in keyof A]: JsonOf<A[K]> }
          : A

/** A tool's arguments, given the type of its Tool value. */
export type ArgumentsOf<T> = T extends { readonly input: ValueCodec<infer I> }
  ? JsonOf<I>
  : { readonly [name: string]: unknown }

/** A tool's structured output, given the type of its Tool value. `unknown` for a tool without `output`. */
export type OutputOf<T> = T extends { readonly output: ValueCodec<infer O> | undefined }
  ? CallToolResult extends O
    ? unknown
    : JsonOf<O>
  : unknown

/** A tool's result. `T` is the type of its Tool value. */
export interface ToolResult<T = unknown> {
  /** The tool's structured output. If the tool failed, it has none. */
  readonly data: OutputOf<T>
  readonly content: ReadonlyArray<ContentBlock>
  readonly isError: boolean
  readonly meta: { readonly [key: string]: unknown }
}

export type DisplayMode = "inline" | "fullscreen" | "pip"

/** Describes the place where the view is shown. Every field is optional, and may change. */
export interface HostContext {
  readonly theme?: "light" | "dark"
  readonly styles?: {
    readonly variables?: { readonly [name: `--${string}`]: string | undefined }
    readonly css?: { readonly fonts?: string }
  }
  readonly displayMode?: DisplayMode
  readonly availableDisplayModes?: ReadonlyArray<DisplayMode>
  readonly containerDimensions?: {
    readonly width?: number
    readonly maxWidth?: number
    readonly height?: number
    readonly maxHeight?: number
  }
  /** BCP 47 language tag. */
  readonly locale?: string
  /** IANA time zone. */
  readonly timeZone?: string
  readonly userAgent?: string
  readonly platform?: "web" | "desktop" | "mobile"
  readonly deviceCapabilities?: { readonly touch?: boolean; readonly hover?: boolean }
  readonly safeAreaInsets?: {
    readonly top: number
    readonly right: number
    readonly bottom: number
    readonly left: number
  }
  readonly toolInfo?: { readonly id?: string | number; readonly tool: { readonly name: string } }
  readonly [key: string]: unknown
}

/** A host's abilities. A missing entry means that the host lacks the ability. */
export interface HostCapabilities {
  readonly openLinks?: object
  readonly downloadFile?: object
  readonly serverTools?: { readonly listChanged?: boolean }
  readonly serverResources?: { readonly listChanged?: boolean }
  readonly logging?: object
  readonly updateModelContext?: { readonly [modality: string]: object }
  readonly message?: { readonly [modality: string]: object }
  readonly [key: string]: unknown
}

/** Values that a view's events carry. */
export interface Events<T = unknown> {
  /** The arguments of the tool call that the view belongs to. Emitted once. */
  readonly input: ArgumentsOf<T>
  /** Arguments that the model is still writing. Any of them may be missing or cut off. */
  readonly partial: Partial<ArgumentsOf<T>>
  /** The result of the tool call that the view belongs to. */
  readonly result: ToolResult<T>
  /** The tool call was cancelled, for this reason. */
  readonly cancelled: string | undefined
  /** The host's context changed. The value is the whole context. */
  readonly context: HostContext
  /** The host is about to remove the view. It waits for the listener's promise, but not for long. */
  readonly teardown: string | undefined
  /** The server's tools changed. */
  readonly toolsChanged: undefined
}
