/**
 * The error for a schema that a tool cannot use. In a separate module, so that contracts can throw it without loading
 * the JSON Schema generator.
 */
import * as Data from "effect/Data"

/**
 * A schema that a tool cannot use. Thrown when the program defines or registers the tool. `where` names the tool and
 * whether the schema is its input or output, if known.
 */
export class InvalidToolSchema extends Data.TaggedError("InvalidToolSchema")<{
  readonly reason: string
  readonly where?: string
}> {
  override get message(): string {
    return this.where === undefined ? this.reason : `${this.where}: ${this.reason}`
  }
}
