/** Resources and templates of a server: lists and reads them, and completes variables. */
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "../model/errors.ts"
import type { JsonObject } from "../model/types.ts"
import type { CacheHint } from "../request/Definition.ts"
import type { ServerContext } from "../request/ServerContext.ts"
import { offerCompletions } from "./completions.ts"
import type {
  ReadCallback,
  ReadTemplateCallback,
  RegisteredResource,
  RegisteredResourceTemplate,
  ResourceMetadata,
  ResourceTemplate,
  ResourceUpdates,
  TemplateUpdates
} from "./features.ts"
import { Registry } from "./Registry.ts"
import type { Server } from "./Server.ts"

interface Named<C> {
  readonly name: string
  readonly metadata: ResourceMetadata
  readonly callback: C
}
interface TemplateEntry extends Named<ReadTemplateCallback> {
  readonly template: ResourceTemplate
}

/** Returns the list entry of a resource or template. */
const listed = ({ metadata: { cacheHint: _hint, ...metadata }, name }: Named<unknown>): JsonObject => ({
  name,
  ...metadata
})

const withTitle = (metadata: ResourceMetadata, title: string | undefined): ResourceMetadata =>
  title === undefined ? metadata : { ...metadata, title }

const hinted = async (result: unknown, hint: CacheHint | undefined): Promise<unknown> => {
  const read = await result
  return hint === undefined || typeof read !== "object" ? read : { ...hint, ...read }
}

export class Resources {
  readonly #server: Server
  readonly #statics: Registry<Named<ReadCallback>>
  readonly #templates: Registry<TemplateEntry>

  constructor(server: Server) {
    const changed = () => server.announce("resources")
    this.#server = server
    this.#statics = new Registry("Resource", changed)
    this.#templates = new Registry("Resource template", changed)
  }

  /** Declares the capability and sets the handlers of its methods. */
  offer(): void {
    if (this.#server.handler("resources/list") !== undefined) return
    const listChanged = this.#server.capabilities().resources?.listChanged ?? true
    this.#server.registerCapabilities({ resources: { listChanged } })
    this.#server.answerList("resources/list", (_, context) => this.#list(context))
    this.#server.answerList("resources/templates/list", () => ({
      resourceTemplates: this.#templates
        .offered()
        .map(([, entry]) => ({ ...listed(entry), uriTemplate: entry.template.uriTemplate.toString() }))
    }))
    this.#server.answer("resources/read", ({ params }, context) => this.#read(String(params["uri"]), context))
  }

  add(name: string, uri: string, metadata: ResourceMetadata, callback: ReadCallback): RegisteredResource {
    this.offer()
    const entry = { name, metadata, callback }
    return this.#statics.add<ResourceUpdates>(uri, entry, (known, updates) => ({
      value: {
        name: updates.name ?? known.name,
        metadata: withTitle(updates.metadata ?? known.metadata, updates.title),
        callback: updates.callback ?? known.callback
      },
      key: updates.uri
    }))
  }

  addTemplate(
    name: string,
    template: ResourceTemplate,
    metadata: ResourceMetadata,
    callback: ReadTemplateCallback
  ): RegisteredResourceTemplate {
    this.offer()
    if (template.uriTemplate.variableNames.some((variable) => template.completeCallback(variable) !== undefined)) {
      offerCompletions(this.#server, "ref/resource", (ref, variable) => this.#completer(String(ref["uri"]), variable))
    }
    const entry = { name, template, metadata, callback }
    return this.#templates.add<TemplateUpdates>(name, entry, (known, updates) => ({
      value: {
        name: updates.name ?? known.name,
        template: updates.template ?? known.template,
        metadata: withTitle(updates.metadata ?? known.metadata, updates.title),
        callback: updates.callback ?? known.callback
      },
      key: updates.name
    }))
  }

  async #list(context: ServerContext): Promise<unknown> {
    const own = this.#statics.offered().map(([uri, entry]) => ({ ...listed(entry), uri }))
    const members = await Promise.all(
      this.#templates.offered().map(async ([, entry]) => {
        const result = await entry.template.callbacks.list?.(context)
        const { name: _, ...shared } = listed(entry)
        return (result?.resources ?? []).map((member) => ({ ...shared, ...member }))
      })
    )
    return { resources: [...own, ...members.flat()] }
  }

  #completer(uri: string, variable: string) {
    const found = this.#templates.offered().find(([, { template }]) => template.uriTemplate.toString() === uri)
    if (found !== undefined) return found[1].template.completeCallback(variable)
    if (this.#statics.get(uri) !== undefined) return undefined
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource template ${uri} not found`)
  }

  async #read(given: string, context: ServerContext): Promise<unknown> {
    if (!URL.canParse(given)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource URI ${given} is invalid`, { uri: given })
    }
    const url = new URL(given)
    const entry = this.#statics.get(given) ?? this.#statics.get(url.toString())
    if (entry !== undefined) {
      if (!entry.enabled) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${given} disabled`)
      return hinted(entry.value.callback(url, context), entry.value.metadata.cacheHint)
    }
    for (const [, { callback, metadata, template }] of this.#templates.offered()) {
      const variables = template.uriTemplate.match(given)
      if (variables !== null) return hinted(callback(url, variables, context), metadata.cacheHint)
    }
    throw new ResourceNotFoundError(given)
  }
}
