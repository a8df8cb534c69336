/** Common interface of the libraries that hosts are built with, each with a scripted model in place of a real one. */

/** A tool as the library offers it to the model's provider. */
export interface OfferedTool {
  readonly name: string
  readonly schema: { readonly [key: string]: unknown }
}

/** A tool call of the model. */
export interface ModelCall {
  readonly name: string
  readonly args: { readonly [name: string]: unknown }
}

/** Decides the next call from the last result as the model sees it, which is `undefined` at first. Returns `undefined` to stop. */
export type Script = (result: string | undefined) => ModelCall | undefined

/** How to reach the server: `node ...args` over stdio, or a URL. */
export type Reach = { readonly args: ReadonlyArray<string> } | { readonly url: string }

/** A library that is connected to the server. */
export interface Library {
  /** Runs an agent to its end. Returns the tools that its model was offered, and the results that it saw. */
  readonly run: (script: Script) => Promise<Run>
  /** Reads a resource as the library's users do. */
  readonly read: (uri: string) => Promise<Page>
  readonly close: () => Promise<void>
}

/** A range of a large result. */
export interface Page {
  readonly text: string
  /** URI of the next range, if the library shows it. */
  readonly next: string | undefined
}

/** Returns the URI of the next range from the `_meta` of a resource. */
export const nextOf = (meta: unknown): string | undefined => {
  if (typeof meta !== "object" || meta === null || !("effect-mcp/next" in meta)) return undefined
  return String(meta["effect-mcp/next"])
}

export interface Run {
  readonly offered: ReadonlyArray<OfferedTool>
  readonly results: ReadonlyArray<string>
}

/** Time limit of each call in milliseconds, for libraries with such an option. */
export const limit = 20_000

/** Number of turns after which an agent is stopped. */
export const maxTurns = 20

export type Connect = (reach: Reach) => Promise<Library>

/** Follows a script, and records the tools and results of each request. Every turn of the agent asks it for the next call. */
export class Scripted {
  readonly offered: Array<OfferedTool> = []
  readonly results: Array<string> = []
  private readonly script: Script

  constructor(script: Script) {
    this.script = script
  }

  /** One request to the model. */
  readonly next = (offered: ReadonlyArray<OfferedTool>, result: string | undefined): ModelCall | undefined => {
    if (this.offered.length === 0) this.offered.push(...offered)
    if (result !== undefined) this.results.push(result)
    return this.script(result)
  }
}
