import { suite } from "../support/official-suite.ts"
import { connector } from "../support/sdk-v1.ts"

suite("The TypeScript SDK v1 client", connector, { notFound: -32002, turnsPages: false })
