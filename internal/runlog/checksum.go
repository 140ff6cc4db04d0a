package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

// checksum is the CRC-32C (Castagnoli) of all lines of a log so far, without the checksums in them.
// Each line ends with the checksum up to its own end, so that a changed, lost, duplicated or moved
// line is detected:
//
//	{"type":"note", ... ,"crc":"0a1b2c3d"}
//
// Logs of earlier versions have lines without a checksum. Such lines are accepted up to the first
// line that has one.
type checksum struct {
	crc    uint32
	sealed bool // a line had a checksum
}

const (
	crcMember = `,"crc":"`
	crcEnd    = `"}`
	crcLength = len(crcMember) + 2*crc32.Size + len(crcEnd)
)

func (c *checksum) add(body []byte) {
	c.crc = crc32.Update(c.crc, crc32.MakeTable(crc32.Castagnoli), body)
}

// seal appends line, a JSON object, to out, with the checksum in it and a newline after it.
func (c *checksum) seal(out, line []byte) []byte {
	body := line[:len(line)-len("}")]
	c.add(body)
	c.sealed = true
	out = append(append(out, body...), crcMember...)
	return append(fmt.Appendf(out, "%08x", c.crc), crcEnd+"\n"...)
}

// unseal splits a line into the bytes that its checksum covers and the checksum. sealed is false
// for a line without one.
func unseal(line []byte) (body, sum []byte, sealed bool) {
	at := len(line) - crcLength
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(crcMember)) || !bytes.HasSuffix(line, []byte(crcEnd)) {
		return line, nil, false
	}
	return line[:at], line[at+len(crcMember) : len(line)-len(crcEnd)], true
}

// check adds the next line of a log, without its newline. An error means that the log is damaged.
func (c *checksum) check(line []byte) error {
	body, sum, sealed := unseal(line)
	if !sealed && !c.sealed {
		return nil
	}
	if !sealed {
		return errors.New("the log is damaged: this line has no checksum, but an earlier line has one")
	}
	c.add(body)
	c.sealed = true
	if string(sum) != fmt.Sprintf("%08x", c.crc) {
		return errors.New(
			"the log is damaged: the checksum does not match; " +
				"this line was changed, or an earlier line is missing or duplicated",
		)
	}
	return nil
}
