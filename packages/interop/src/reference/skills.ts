/** Skills of the reference server. The first one has a folder, and the second one is nested in it. */
import { Skills } from "@effect-mcp/skills"
import { Layer } from "effect"

const layer = Skills.layer([
  {
    name: "reference-tour",
    description: "Shows every feature of the reference server. Use it to try a client.",
    instructions: "List the tools and call test_simple_text. references/limits.md says which calls are slow.\n",
    files: {
      "references/limits.md": "The tool slow runs until it is cancelled.\n",
      "assets/pixel.bin": new Uint8Array([0, 1, 254, 255])
    },
    license: "MIT",
    metadata: { version: "1.0" }
  },
  {
    name: "questions",
    prefix: "reference-tutorials",
    description: "Answers the questions that the reference server asks.",
    instructions: "Accept each question, and fill in every field.\n"
  }
])

export const skills = Layer.orDie(layer)
