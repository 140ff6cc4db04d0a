package agentcli

