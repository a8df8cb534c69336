/** URI templates (RFC 6570) as the SDK's programs use them, on the parser of effect-mcp: what it binds cannot climb out of a folder. */
import * as UriTemplates from "@effect-mcp/protocol/UriTemplate"
import * as Result from "effect/Result"

/** The values of a template's variables, by name. */
export type Variables = { [variable: string]: string | Array<string> }

/** A parsed template. */
export class UriTemplate {
  private readonly source: string
  private readonly parsed: UriTemplates.UriTemplate

  /** Throws where the text is no template, or has more than 8192 characters. */
  constructor(template: string) {
    this.source = template
    this.parsed = Result.getOrThrow(UriTemplates.parse(template))
  }

  /** Whether a text has an expression, such as `{id}` or `{?page}`. */
  static isTemplate(text: string): boolean {
    return /\{[^}\s]+\}/.test(text)
  }

  get variableNames(): Array<string> {
    return [...UriTemplates.variables(this.parsed)]
  }

  toString(): string {
    return this.source
  }

  /** The URI of these values; a variable without a value is left out. */
  expand(variables: Variables): string {
    return UriTemplates.expand(this.parsed, variables)
  }

  /** The values with which a URI is an expansion of the template; `null` where it is none. */
  match(uri: string): Variables | null {
    const values = UriTemplates.match(this.parsed, uri)
    if (values === undefined) return null
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : [...value]])
    )
  }
}
