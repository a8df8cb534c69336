/** URI templates (RFC 6570) with the SDK's API, on effect-mcp's parser: no value that it binds can climb out of a folder. */
import * as UriTemplates from "@effect-mcp/protocol/UriTemplate"
import * as Result from "effect/Result"

/** Values of a template's variables, by name. */
export type Variables = { [variable: string]: string | Array<string> }

/** A parsed template. */
export class UriTemplate {
  private readonly source: string
  private readonly parsed: UriTemplates.UriTemplate

  /** Throws if the text is not a template or has more than 8192 characters. */
  constructor(template: string) {
    this.source = template
    this.parsed = Result.getOrThrow(UriTemplates.parse(template))
  }

  /** True if the text has an expression, such as `{id}` or `{?page}`. */
  static isTemplate(text: string): boolean {
    return /\{[^}\s]+\}/.test(text)
  }

  get variableNames(): Array<string> {
    return [...UriTemplates.variables(this.parsed)]
  }

  toString(): string {
    return this.source
  }

  /** Returns the URI for these values. Variables without a value are left out. */
  expand(variables: Variables): string {
    return UriTemplates.expand(this.parsed, variables)
  }

  /** Returns the values that expand the template to this URI, or `null` if the URI does not match. */
  match(uri: string): Variables | null {
    const values = UriTemplates.match(this.parsed, uri)
    if (values === undefined) return null
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : [...value]])
    )
  }
}
