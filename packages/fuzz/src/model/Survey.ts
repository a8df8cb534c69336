/** A server's self-description: its capabilities and the items it lists. Conversations are generated from it. */
import { all } from "@effect-mcp/protocol/Revision"
import * as Schema from "effect/Schema"

const Named = Schema.Struct({ name: Schema.String })

/** The tool fields used to generate conversations. */
export const SurveyedTool = Schema.Struct({
  name: Schema.String,
  inputSchema: Schema.Record(Schema.String, Schema.Json),
  outputSchema: Schema.optionalKey(Schema.Json),
  annotations: Schema.optionalKey(
    Schema.Struct({
      destructiveHint: Schema.optionalKey(Schema.Boolean),
      readOnlyHint: Schema.optionalKey(Schema.Boolean)
    })
  ),
  execution: Schema.optionalKey(Schema.Struct({ taskSupport: Schema.optionalKey(Schema.String) })),
  _meta: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})
export type SurveyedTool = typeof SurveyedTool.Type

export const SurveyedPrompt = Schema.Struct({
  name: Schema.String,
  arguments: Schema.optionalKey(
    Schema.Array(Schema.Struct({ name: Schema.String, required: Schema.optionalKey(Schema.Boolean) }))
  )
})
export type SurveyedPrompt = typeof SurveyedPrompt.Type

export const SurveyedResource = Schema.Struct({ uri: Schema.String })
export const SurveyedTemplate = Schema.Struct({ uriTemplate: Schema.String })

/** The addresses of a skill: its `SKILL.md`, and the files that its manifest lists. */
export const SurveyedSkill = Schema.Struct({ uri: Schema.String, files: Schema.Array(Schema.String) })
export type SurveyedSkill = typeof SurveyedSkill.Type

/** A server's features in one revision. */
export const Survey = Schema.Struct({
  revision: Schema.Literals(all.map(({ version }) => version)),
  /** Missing if the server doesn't report its name. */
  server: Schema.optionalKey(Schema.Struct({ ...Named.fields, version: Schema.String })),
  capabilities: Schema.Record(Schema.String, Schema.Json),
  tools: Schema.Array(SurveyedTool),
  prompts: Schema.Array(SurveyedPrompt),
  /** URIs of the resources. */
  resources: Schema.Array(Schema.String),
  /** URI templates. */
  templates: Schema.Array(Schema.String),
  /** Skills, if the server declares the extension. */
  skills: Schema.optionalKey(Schema.Array(SurveyedSkill))
})
export type Survey = typeof Survey.Type

/** A server about which nothing is known yet. */
export const unknown = (revision: Survey["revision"]): Survey => ({
  revision,
  capabilities: {},
  tools: [],
  prompts: [],
  resources: [],
  templates: []
})
