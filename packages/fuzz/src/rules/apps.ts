/** Rules of MCP Apps (extension `io.modelcontextprotocol/ui`, 2026-07-28), for the servers of views. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { at, isText } from "../model/json.ts"
import type { Model } from "../model/Model.ts"
import type { Answer } from "../model/Observation.ts"
import type { Rule, RuleHandlers } from "../model/Rule.ts"
import { extension, flatUriKey, isForViewsOnly, mimeType, uiOf, viewOf, viewsOf } from "../model/views.ts"
import { toolOf } from "./features.ts"
import { answered, result, show, showAnswer, violated } from "./judge.ts"

const page = "extensions/apps"
const since = "2026-07-28"

const cited = (name: string, requirement: string, section: string, text: string, on: RuleHandlers): Rule => ({
  name,
  level: "MUST",
  requirement: `apps.${requirement}`,
  section: `${page}#${section}`,
  text,
  since,
  on
})

/** Judges each listed tool that satisfies `when`. `check` describes the fault. */
const listedTools = (when: (tool: unknown) => boolean, check: (tool: unknown) => string | undefined): RuleHandlers =>
  result("tools/list", (value) => {
    const tools = at(value, "tools")
    const judged = Array.isArray(tools) ? tools.filter(when) : []
    for (const tool of judged) {
      const wrong = check(tool)
      if (wrong !== undefined) return violated(`The tool ${show(at(tool, "name"))} ${wrong}`, String(at(tool, "name")))
    }
    return judged.length > 0 ? "pass" : undefined
  })

/** Returns the URI of the view that a request reads, or `undefined` if no tool names it. */
const viewRead = (params: unknown, { tools }: Model): string | undefined => {
  const uri = at(params, "uri")
  return typeof uri === "string" && uri.startsWith("ui://") && viewsOf(tools.values()).has(uri) ? uri : undefined
}

const partsOf = (answer: Answer): ReadonlyArray<unknown> => {
  const contents = answer._tag === "Result" ? at(answer.result, "contents") : undefined
  return Array.isArray(contents) ? contents : []
}

/** Judges the contents of a view that a tool names. */
const contents = (check: (part: unknown, uri: string, model: Model) => string | undefined): RuleHandlers =>
  answered("resources/read", ({ params }, answer, model) => {
    const uri = viewRead(params, model)
    if (uri === undefined || answer._tag === "Error") return undefined
    const parts = partsOf(answer).filter((part) => at(part, "uri") === uri)
    const wrong = parts.length === 0 ? "has no contents" : parts.flatMap((part) => check(part, uri, model) ?? [])[0]
    return wrong === undefined ? "pass" : violated(`The view ${show(uri)} ${wrong}`, uri)
  })

const unknownCodes: ReadonlySet<number> = new Set([
  McpError.InvalidParams,
  McpError.ResourceNotFound,
  McpError.MethodNotFound
])

/** The lists of origins in a policy, with empty lists left out. */
const originsOf = (ui: unknown): string => {
  const csp = at(ui, "csp")
  const lists = Object.entries(isJsonObject(csp) ? csp : {}).filter(
    ([, list]) => !Array.isArray(list) || list.length > 0
  )
  return JSON.stringify(lists.toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

export const apps: ReadonlyArray<Rule> = [
  cited(
    "view-uri-scheme",
    "resource.scheme",
    "ui-resource-format",
    "The URI of a view starts with ui://.",
    listedTools(
      (tool) => viewOf(tool) !== undefined,
      (tool) => (viewOf(tool)?.startsWith("ui://") === true ? undefined : `names the view ${show(viewOf(tool))}`)
    )
  ),
  cited(
    "view-media-type",
    "resource.media-type",
    "ui-resource-format",
    "The media type of a view is text/html;profile=mcp-app.",
    contents((part) => {
      const type = at(part, "mimeType")
      return String(type).replace(/\s/g, "") === mimeType ? undefined : `has the media type ${show(type)}`
    })
  ),
  cited(
    "view-content",
    "resource.content",
    "ui-resource-format",
    "The HTML of a view is in text or blob.",
    contents((part) => (isText(at(part, "text")) || isText(at(part, "blob")) ? undefined : "has no text and no blob"))
  ),
  cited(
    "view-exists",
    "tool.resource-exists",
    "resource-discovery",
    "The view that a tool names exists on its server.",
    answered("resources/read", ({ params }, answer, model) => {
      const uri = viewRead(params, model)
      if (uri === undefined || (answer._tag === "Error" && !unknownCodes.has(answer.code))) return undefined
      return answer._tag === "Result"
        ? "pass"
        : violated(`A tool names the view ${show(uri)}, but reading it is answered with ${showAnswer(answer)}`, uri)
    })
  ),
  cited(
    "view-tool-content",
    "degradation.content",
    "clientserver-capability-negotiation",
    "A tool with a view also returns content for hosts without views.",
    result("tools/call", (value, exchange, model) => {
      const tool = toolOf(exchange, model)
      if (viewOf(tool) === undefined || at(value, "isError") === true) return undefined
      if ((at(value, "resultType") ?? "complete") !== "complete") return undefined
      const content = at(value, "content")
      return Array.isArray(content) && content.length > 0
        ? "pass"
        : violated(`${tool?.name} has a view, and returns no content: ${show(value)}`, tool?.name)
    })
  ),
  {
    name: "view-policy-same",
    level: "robustness",
    text: "A view's listing and its contents declare the same origins. Hosts may read either.",
    since,
    on: contents((part, uri, { offers }) => {
      const [read, listed] = [uiOf(part), offers.views.get(uri)]
      if (at(read, "csp") === undefined || at(listed, "csp") === undefined || originsOf(read) === originsOf(listed))
        return undefined
      return `declares the origins ${originsOf(read)}, but its listing declares ${originsOf(listed)}`
    })
  },
  {
    name: "view-keys-same",
    level: "robustness",
    text: 'A tool names the same view in `_meta.ui.resourceUri` and in the deprecated `_meta["ui/resourceUri"]`.',
    since,
    on: listedTools(
      (tool) => at(tool, "_meta", flatUriKey) !== undefined && at(uiOf(tool), "resourceUri") !== undefined,
      (tool) => {
        const flat = at(tool, "_meta", flatUriKey)
        return flat === viewOf(tool) ? undefined : `names the views ${show(viewOf(tool))} and ${show(flat)}`
      }
    )
  },
  {
    name: "tool-visibility-known",
    level: "robustness",
    text: "A tool's visibility is a list of `model` and `app`. Hosts hide a tool with another value from everyone, or from no one.",
    since,
    on: listedTools(
      (tool) => at(uiOf(tool), "visibility") !== undefined,
      (tool) => {
        const visibility = at(uiOf(tool), "visibility")
        return Array.isArray(visibility) && visibility.every((one) => one === "model" || one === "app")
          ? undefined
          : `has the visibility ${show(visibility)}`
      }
    )
  },
  {
    name: "app-tool-hidden",
    level: "robustness",
    text: "A tool that only views may call is not listed for a client without views, which would show it to the model.",
    since,
    on: result("tools/list", (value, exchange) => {
      const tools = at(value, "tools")
      const linked = Array.isArray(tools) ? tools.filter((tool) => uiOf(tool) !== undefined) : []
      if (at(exchange.declares, "extensions", extension) !== undefined || linked.length === 0) return undefined
      const shown = linked.find(isForViewsOnly)
      return shown === undefined
        ? "pass"
        : violated(`${show(at(shown, "name"))} is listed for a client without views`, String(at(shown, "name")))
    })
  }
]
