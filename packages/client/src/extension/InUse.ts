/**
 * The extensions in one conversation: all extensions that the client declares in a revision, and the extensions that the server declared as
 * well.
 *
 * Only the latter are in use. Questions, notifications and results from any other extension are handled as unknown.
 */
import * as Extension from "@effect-mcp/core/Extension"
import type { ClientCapabilities, ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import { CapabilityMissing } from "../ClientError.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { OutgoingRequest, ExtensionPart, BoundQuestion, ResultHandler } from "./ClientExtension.ts"
import { OtherResult } from "./OtherResult.ts"

/** Negotiated values that extensions need. */
interface Agreed {
  readonly revision: Revision.Revision
  readonly serverCapabilities: ServerCapabilities
}

/** A client's extensions, as its connections see them. */
export interface Agreement {
  /** Adds the extensions to the client's capabilities, in a revision's format. */
  readonly declare: (capabilities: ClientCapabilities, revision: Revision.Revision) => ClientCapabilities
  /** Returns the extensions that both sides declared, or `undefined` if there are none. */
  readonly inUse: (agreed: Agreed) => InUse | undefined
}

/** Fails if two extensions of one revision share a method, because each message must belong to one extension. */
export const check = (parts: ReadonlyArray<ExtensionPart>): Effect.Effect<void> => {
  const owners = new Map<string, Array<Extension.Identity>>()
  for (const { extension } of parts) {
    const { id, notifications, questions, requests } = extension
    for (const { method } of [requests, questions, notifications].flatMap(methodsOf)) {
      const known = owners.get(method) ?? []
      const owner = known.find((other) => Extension.meet(other, extension))
      if (owner !== undefined) {
        // A defect, because the program chose the extensions.
        return Effect.die(
          new Error(`The extensions ${owner.id} and ${id} both define the method ${method}. Provide only one of them`)
        )
      }
      owners.set(method, [...known, extension])
    }
  }
  return Effect.void
}

const methodsOf = (members: {
  readonly [name: string]: { readonly method: string }
}): ReadonlyArray<{ readonly method: string }> => Object.values(members)

/**
 * Adds the extensions to the client's capabilities, in a revision's format. Before a handshake the revision is unknown, so all extensions
 * that any session may use are declared.
 */
export const declare = (
  capabilities: ClientCapabilities,
  parts: ReadonlyArray<ExtensionPart>,
  revision: Revision.Revision
): ClientCapabilities => {
  const possible = revision.era === "stateful" ? Revision.stateful : [revision]
  return parts
    .filter(({ extension }) => possible.some((revision) => Extension.isIn(extension, revision)))
    .flatMap(({ extension, settings }) => (settings === undefined ? [] : [{ extension, settings }]))
    .map(({ extension, settings }) => Extension.declarationOf(extension, revision, settings))
    .reduce<ClientCapabilities>(
      (all, declared) => ({
        ...all,
        ...declared,
        ...(declared.experimental === undefined
          ? undefined
          : { experimental: { ...all.experimental, ...declared.experimental } }),
        ...(declared.extensions === undefined
          ? undefined
          : { extensions: { ...all.extensions, ...declared.extensions } })
      }),
      capabilities
    )
}

/** Fails, without sending anything, unless both sides declared the value's extension. */
export const checkDeclared = (
  { extension, method }: { readonly extension: Extension.Identity | undefined; readonly method: string },
  revisions: Extension.RequestInfo["revisions"],
  declares: (id: string) => boolean,
  { revision, serverCapabilities }: Agreed
): Effect.Effect<void, CapabilityMissing> => {
  const missing = (capability: string, message: string) => Effect.fail(new CapabilityMissing({ capability, message }))
  if (extension === undefined) {
    return missing(method, `${method} does not belong to an extension. Use the value that Extension.make returns`)
  }
  const { id, undeclared } = extension
  if (undeclared === "refused" && !declares(id)) {
    return missing(
      id,
      `This client did not declare the extension ${id}. Provide its ClientExtension.layer when you build the client`
    )
  }
  if (Extension.settingsIn(extension, revision, serverCapabilities) === undefined) {
    return missing(id, `The server does not support the extension ${id}`)
  }
  return revisions?.includes(revision.version) === false
    ? missing(method, `${method} is not available in revision ${revision.version}`)
    : Effect.void
}

/** The extensions that both sides declared. */
export class InUse {
  private readonly parts: ReadonlyArray<ExtensionPart>
  private readonly agreed: Agreed
  private readonly byQuestion: ReadonlyMap<string, BoundQuestion>
  private readonly byNotification: ReadonlyMap<string, ExtensionPart>

  constructor(parts: ReadonlyArray<ExtensionPart>, agreed: Agreed) {
    this.agreed = agreed
    this.parts = parts.filter(({ extension }) => this.settings(extension) !== undefined)
    this.byQuestion = new Map(
      this.parts.flatMap(({ questions }) => questions.map((question) => [question.request.method, question]))
    )
    this.byNotification = new Map(
      this.parts.flatMap((part) =>
        Object.values<Extension.Notification<unknown>>(part.extension.notifications).flatMap(({ from, method }) =>
          from === "server" ? [[method, part]] : []
        )
      )
    )
  }

  private settings(extension: Extension.Identity): JsonObject | undefined {
    return Extension.settingsIn(extension, this.agreed.revision, this.agreed.serverCapabilities)
  }

  get isEmpty(): boolean {
    return this.parts.length === 0
  }

  /** Returns the question with this method, if the client answers it. */
  question(method: string): BoundQuestion | undefined {
    const found = this.byQuestion.get(method)
    return found?.request.revisions?.includes(this.agreed.revision.version) === false ? undefined : found
  }

  /** Returns the extension that a server notification belongs to. */
  ownerOf(method: string): ExtensionPart | undefined {
    return this.byNotification.get(method)
  }

  /** Returns the result with its handler, or `undefined` for an ordinary result and for a type that no extension in use handles. */
  otherResult(
    result: unknown,
    method: string,
    params: JsonObject | undefined,
    options: CallOptions
  ): OtherResult | undefined {
    if (!isJsonObject(result)) return undefined
    const type = ResultType.of(result)
    const isOf = ({ matches, resultType }: ResultHandler): boolean =>
      this.agreed.revision.era === "stateless" ? type === resultType : matches?.(result, method) === true
    const handler = this.parts.find(({ results }) => results !== undefined && isOf(results))?.results
    return handler && new OtherResult(handler, result, method, params ?? {}, options)
  }

  /** Returns the params to send, or `undefined` if no extension changes the method's params. */
  changed(method: string, params: JsonObject): Effect.Effect<JsonObject> | undefined {
    const changes = this.parts.flatMap(({ extension, outgoing }) => {
      const change = outgoing.get(method)
      const info: OutgoingRequest = { revision: this.agreed.revision, serverSettings: this.settings(extension) ?? {} }
      return change === undefined ? [] : [(params: JsonObject) => change(params, info)]
    })
    return changes.length === 0
      ? undefined
      : Effect.suspend(() => changes.reduce((params, change) => Effect.flatMap(params, change), Effect.succeed(params)))
  }
}

/** Returns `undefined` if no extension is in use, as in most clients. */
export const make = (parts: ReadonlyArray<ExtensionPart>, agreed: Agreed): InUse | undefined => {
  const inUse = parts.length === 0 ? undefined : new InUse(parts, agreed)
  return inUse?.isEmpty === false ? inUse : undefined
}
