import { fileOf } from "../support/our-client.ts"
import { suite } from "../support/our-client-suite.ts"

suite("the TypeScript SDK v2", [fileOf("../fixtures/sdk-v2-server.ts")])
