/** Every rule of the fuzzer about clients. */
import type { ClientRule } from "../model/ClientRule.ts"
import { answers } from "./answers.ts"
import { endings } from "./endings.ts"
import { http } from "./http.ts"
import { messages } from "./messages.ts"
import { stateless } from "./stateless.ts"
import { stdio } from "./stdio.ts"

export const clientRules: ReadonlyArray<ClientRule> = [
  ...messages,
  ...answers,
  ...http,
  ...stdio,
  ...stateless,
  ...endings
]
