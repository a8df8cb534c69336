/** The official SDKs' clients. */
import * as v2 from "@modelcontextprotocol/client"
import * as v2Stdio from "@modelcontextprotocol/client/stdio"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"

const info = { name: "official", version: "1.0.0" }

export interface SdkClient extends AsyncDisposable {
  readonly callTool: (name: string, args?: { [name: string]: unknown }) => Promise<unknown>
  readonly listTools: () => Promise<ReadonlyArray<string>>
}

interface Sdk {
  readonly name: string
  readonly overHttp: (url: string) => Promise<SdkClient>
  readonly overStdio: (file: string) => Promise<SdkClient>
}

const ofV1 = async (transport: any): Promise<SdkClient> => {
  const client = new ClientV1(info)
  await client.connect(transport)
  return {
    callTool: (name, args = {}) => client.callTool({ name, arguments: args }),
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    [Symbol.asyncDispose]: () => client.close()
  }
}

const ofV2 = async (transport: any, mode: "auto" | undefined): Promise<SdkClient> => {
  const client = new v2.Client(info, mode === undefined ? {} : { versionNegotiation: { mode } })
  await client.connect(transport)
  return {
    callTool: (name, args = {}) => client.callTool({ name, arguments: args }),
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    [Symbol.asyncDispose]: () => client.close()
  }
}

const command = (file: string) => ({ command: process.execPath, args: [file] })

export const sdks: ReadonlyArray<Sdk> = [
  {
    name: "The TypeScript SDK v1 client",
    overHttp: (url) => ofV1(new HttpV1(new URL(url))),
    overStdio: (file) => ofV1(new StdioV1(command(file)))
  },
  ...([undefined, "auto"] as const).map((mode) => ({
    name: `The TypeScript SDK v2 client${mode === undefined ? "" : ", which negotiates 2026-07-28,"}`,
    overHttp: (url: string) => ofV2(new v2.StreamableHTTPClientTransport(new URL(url)), mode),
    overStdio: (file: string) => ofV2(new v2Stdio.StdioClientTransport(command(file)), mode)
  }))
]
