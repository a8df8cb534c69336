/** Turns a program's resources and templates into feature layers. */
import * as Resources from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import type { Layer } from "effect/Layer"
import * as Result from "effect/Result"
import type { HandlerContext } from "../handler/Context.ts"
import type { ResourceOutput } from "../handler/results.ts"
import { type Rules, run } from "../handler/run.ts"
import type { Changes } from "./changes.ts"
import { completers, query } from "./completers.ts"
import { checkedOptions, type Known, required } from "./checked.ts"
import type { ResourceOptions, TemplateOptions } from "./Options.ts"
import { checkedVisible } from "./visible.ts"

type Read = ResourceOutput | PromiseLike<ResourceOutput>

const runnerOf = (rules: Rules, name: string) => ({
  rules,
  place: { kind: "resource", name } as const,
  fail: McpError.internalError
})

const read = (rules: Rules, name: string, uri: string, call: (context: HandlerContext) => Read) =>
  Effect.flatMap(
    run(runnerOf(rules, name), call, identity),
    (output): Effect.Effect<Resources.ResourceOutput, Resources.ResourceNotFound> =>
      output === undefined ? Effect.fail(new Resources.ResourceNotFound({ uri })) : Effect.succeed(output)
  )

/** Throws if a field has a value the specification doesn't allow. Otherwise the layer would fail later, while the server is built. */
const check = ({ annotations, icons, mimeType, name }: ResourceOptions | TemplateOptions<string>): void => {
  Validate.mimeType(`Resource ${name}`, mimeType)
  Validate.annotations(`Resource ${name}`, annotations)
  Validate.icons(`Resource ${name}`, icons)
}

const described = {
  name: "string",
  title: "string",
  description: "string",
  mimeType: "string",
  annotations: "object",
  icons: "array",
  meta: "object",
  visible: "function"
} as const
const known: Known<ResourceOptions> = { ...described, size: "number" }
const knownOfTemplates: Known<TemplateOptions<string>> = { ...described, complete: "object", list: "function" }

/** Creates a resource whose updates the program announces. Throws if the URI is invalid. */
export const resourceLayer = (
  uri: string,
  options: ResourceOptions,
  call: (uri: string, context: HandlerContext) => Read,
  rules: Rules,
  changes: Changes
): Layer<never, never, Resources.ResourceRegistry> => {
  if (!Resources.isUri(uri)) throw new TypeError(`Not a valid URI (RFC 3986): ${JSON.stringify(uri)}`)
  const where = `The resource ${uri}`
  checkedOptions(where, options, known)
  required(where, "a name", options.name, "string")
  required(where, "a read function", call, "function")
  check(options)
  return Resources.layer(
    { ...options, uri, visible: checkedVisible(options.visible, rules, { kind: "resource", name: uri }) },
    read(rules, uri, uri, (context) => call(uri, context)),
    changes.of(uri)
  )
}

/**
 * Creates a family of resources. Throws if the template is not valid RFC 6570, or if a completer refers to a variable the template doesn't
 * have.
 */
export const templateLayer = (
  uriTemplate: string,
  given: TemplateOptions<string>,
  call: (variables: Resources.Variables, context: HandlerContext & { readonly uri: string }) => Read,
  rules: Rules,
  changes: Changes
): Layer<never, never, Resources.ResourceRegistry> => {
  const where = `The template ${uriTemplate}`
  const { complete = {}, list, ...options } = checkedOptions(where, given, knownOfTemplates)
  required(where, "a name", options.name, "string")
  required(where, "a read function", call, "function")
  check(options)
  const template = Result.getOrThrow(UriTemplate.parse(uriTemplate))
  const known = UriTemplate.variables(template)
  const stray = Object.keys(complete).find((name) => !known.includes(name))
  if (stray !== undefined) throw new TypeError(`The template ${uriTemplate} has no variable ${stray}`)
  return Resources.layerTemplate(
    {
      ...options,
      uriTemplate,
      visible: checkedVisible(options.visible, rules, { kind: "resource", name: uriTemplate }),
      complete: completers(complete, rules, uriTemplate),
      ...(list && { list: query(list, rules, { kind: "resource", name: uriTemplate }) })
    },
    (variables, uri) => read(rules, uriTemplate, uri, (context) => call(variables, Object.assign(context, { uri }))),
    (_variables, uri) => changes.of(uri)
  )
}
