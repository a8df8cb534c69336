/** The error of a schema that no tool can have. A module of its own: a contract throws it without the maker of JSON Schemas. */
import * as Data from "effect/Data"

/** A schema that no tool can have, thrown where the program declares or serves it. `where` names the tool and its side, if known. */
export class InvalidToolSchema extends Data.TaggedError("InvalidToolSchema")<{
  readonly reason: string
  readonly where?: string
}> {
  override get message(): string {
    return this.where === undefined ? this.reason : `${this.where}: ${this.reason}`
  }
}
