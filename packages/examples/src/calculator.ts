import { Tool } from "@effect-mcp/core"
import { Schema } from "effect"

export const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
