import { suite } from "../support/official-suite.ts"
import { connector } from "../support/sdk-v2.ts"

// This SDK rewrites the code as the newest revision has it.
suite("The TypeScript SDK v2 client", connector, { notFound: -32602, turnsPages: true })
