import { fileOf } from "../support/our-client.ts"
import { suite } from "../support/our-client-suite.ts"

suite("the TypeScript SDK v1", [fileOf("../fixtures/sdk-v1-server.ts")])
