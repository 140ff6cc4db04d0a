package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// serveMCP poses as an MCP server on stdin and stdout. Its one tool answers with the environment variable MCP_SAYS.
func serveMCP() int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"params"`
		}
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			return 1
		}
		if asked.ID == nil {
			continue // a notification
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": asked.ID}
		switch asked.Method {
		case "initialize":
			answer["result"] = map[string]any{
				"protocolVersion": asked.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "probe", "version": "1"},
			}
		case "tools/list":
			answer["result"] = map[string]any{"tools": []any{map[string]any{
				"name": "sound_depth", "description": "Measures the depth.", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{}},
			}}}
		case "tools/call":
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "it says " + os.Getenv("MCP_SAYS")}}}
		case "ping":
			answer["result"] = map[string]any{}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		data, err := json.Marshal(answer)
		if err != nil {
			return 1
		}
		fmt.Printf("%s\n", data)
	}
	return 0
}
