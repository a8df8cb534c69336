/** A server's lists, as known in one conversation. Conversations share them until they learn more. */
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"
import { at } from "./json.ts"
import * as Survey from "./Survey.ts"

export interface Offers {
  readonly tools: ReadonlyMap<string, Survey.SurveyedTool>
  readonly prompts: ReadonlyMap<string, Survey.SurveyedPrompt>
  /** URIs of the resources. */
  readonly resources: ReadonlySet<string>
  /** URI templates. */
  readonly templates: ReadonlySet<string>
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

/** Returns the lists in a survey, always the same object for the same survey. */
export const ofSurvey = memoize(({ prompts, resources, templates, tools }: Survey.Survey): Offers => ({
  tools: named(new Map(), tools),
  prompts: named(new Map(), prompts),
  resources: new Set(resources),
  templates: new Set(templates)
}))

/** Adds the lists in a result. Returns the same object if the result has no list. */
export const learnt = (offers: Offers, result: unknown): Offers => {
  const tools = listOf(at(result, "tools"), isTool)
  const prompts = listOf(at(result, "prompts"), isPrompt)
  const resources = listOf(at(result, "resources"), isResource)
  const templates = listOf(at(result, "resourceTemplates"), isTemplate)
  if (tools.length + prompts.length + resources.length + templates.length === 0) return offers
  return {
    tools: named(offers.tools, tools),
    prompts: named(offers.prompts, prompts),
    resources: new Set([...offers.resources, ...resources.map(({ uri }) => uri)]),
    templates: new Set([...offers.templates, ...templates.map(({ uriTemplate }) => uriTemplate)])
  }
}

/** Removes the tools or the prompts. */
export const without = (offers: Offers, list: "tools" | "prompts"): Offers => ({ ...offers, [list]: new Map() })
