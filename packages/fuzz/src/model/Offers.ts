/** What a server lists, as one conversation knows it: shared between conversations until one of them learns more. */
import * as Schema from "effect/Schema"
import { at } from "./json.ts"
import * as Survey from "./Survey.ts"

export interface Offers {
  readonly tools: ReadonlyMap<string, Survey.SurveyedTool>
  readonly prompts: ReadonlyMap<string, Survey.SurveyedPrompt>
  /** Their URIs. */
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

/** With these in the place of those that have the same names. */
const named = <A extends { readonly name: string }>(all: ReadonlyMap<string, A>, more: ReadonlyArray<A>) => {
  const made = new Map(all)
  for (const each of more) made.set(each.name, each)
  return made
}

const made = new WeakMap<Survey.Survey, Offers>()

/** What a survey lists; the same object for the same survey. */
export const ofSurvey = (survey: Survey.Survey): Offers => {
  const known = made.get(survey)
  if (known !== undefined) return known
  const { prompts, resources, templates, tools } = survey
  const offers: Offers = {
    tools: named(new Map(), tools),
    prompts: named(new Map(), prompts),
    resources: new Set(resources),
    templates: new Set(templates)
  }
  made.set(survey, offers)
  return offers
}

/** With what a result lists; the same object where it lists nothing. */
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

/** Without the tools, or the prompts. */
export const without = (offers: Offers, list: "tools" | "prompts"): Offers => ({ ...offers, [list]: new Map() })
