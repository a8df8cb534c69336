/** A server's lists, as known in one conversation. Conversations share them until they learn more. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import { at } from "./json.ts"
import * as Skills from "./skills.ts"
import * as Survey from "./Survey.ts"
import { uiOf } from "./views.ts"

export interface Offers {
  readonly tools: ReadonlyMap<string, Survey.SurveyedTool>
  readonly prompts: ReadonlyMap<string, Survey.SurveyedPrompt>
  /** URIs of the resources. */
  readonly resources: ReadonlySet<string>
  /** URI templates. */
  readonly templates: ReadonlySet<string>
  /** The skills' entries as sent in this conversation, by URI. */
  readonly skills: ReadonlyMap<string, JsonObject>
  /** `_meta.ui` of listed views, by URI. */
  readonly views: ReadonlyMap<string, JsonObject>
}

const isTool = Schema.is(Survey.SurveyedTool)
const isPrompt = Schema.is(Survey.SurveyedPrompt)
const isResource = Schema.is(Survey.SurveyedResource)
const isTemplate = Schema.is(Survey.SurveyedTemplate)
const listOf = <A>(json: unknown, is: (u: unknown) => u is A): ReadonlyArray<A> =>
  Array.isArray(json) ? json.filter(is) : []

/** Adds items, replacing items with the same names. */
const named = <A extends { readonly name: string }>(all: ReadonlyMap<string, A>, more: ReadonlyArray<A>) => {
  const made = new Map(all)
  for (const each of more) made.set(each.name, each)
  return made
}

/** Adds pairs, replacing earlier values. */
const keyed = <A>(all: ReadonlyMap<string, A>, more: ReadonlyArray<readonly [string, A]>): ReadonlyMap<string, A> =>
  more.length === 0 ? all : new Map([...all, ...more])

const addressed = (entry: unknown): ReadonlyArray<readonly [string, JsonObject]> =>
  isJsonObject(entry) && typeof entry.uri === "string" ? [[entry.uri, entry]] : []

const described = (resource: { readonly uri: string }): ReadonlyArray<readonly [string, JsonObject]> => {
  const ui = resource.uri.startsWith("ui://") ? uiOf(resource) : undefined
  return ui === undefined ? [] : [[resource.uri, ui]]
}

/** Returns the lists in a survey, always the same object for the same survey. */
export const ofSurvey = memoize(({ prompts, resources, templates, tools }: Survey.Survey): Offers => ({
  tools: named(new Map(), tools),
  prompts: named(new Map(), prompts),
  resources: new Set(resources),
  templates: new Set(templates),
  // Files may change between conversations, so no entry is known yet.
  skills: new Map(),
  views: new Map()
}))

/** Adds the lists in a result. Returns the same object if the result has no list. */
export const learnt = (offers: Offers, result: unknown): Offers => {
  const tools = listOf(at(result, "tools"), isTool)
  const prompts = listOf(at(result, "prompts"), isPrompt)
  const resources = listOf(at(result, "resources"), isResource)
  const templates = listOf(at(result, "resourceTemplates"), isTemplate)
  const skills = Skills.entriesOf(result)
  if (tools.length + prompts.length + resources.length + templates.length + skills.length === 0) return offers
  return {
    tools: named(offers.tools, tools),
    prompts: named(offers.prompts, prompts),
    resources: new Set([...offers.resources, ...resources.map(({ uri }) => uri)]),
    templates: new Set([...offers.templates, ...templates.map(({ uriTemplate }) => uriTemplate)]),
    skills: keyed(offers.skills, skills.flatMap(addressed)),
    views: keyed(offers.views, resources.flatMap(described))
  }
}

/** Removes the tools, the prompts or the skills. */
export const without = (offers: Offers, list: "tools" | "prompts" | "skills"): Offers => ({
  ...offers,
  [list]: new Map()
})

/** Returns the lists for a survey. Skills are missing if there are none. */
export const surveyed = ({ prompts, resources, skills, templates, tools }: Offers) => ({
  tools: [...tools.values()],
  prompts: [...prompts.values()],
  resources: [...resources],
  templates: [...templates],
  ...(skills.size > 0 && {
    skills: [...skills].map(([uri, entry]) => ({ uri, files: Skills.filesOf(entry).map((file) => file.uri) }))
  })
})
