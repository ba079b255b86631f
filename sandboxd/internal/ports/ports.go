// Package ports lists the listening TCP ports of the sandbox.
package ports

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Port is a listening port.
type Port struct {
	Port    uint16 `json:"port"`
	Address string `json:"address"`
	// Pid and Command are empty if the owner is not visible.
	Pid     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`

	inode string
}

const listening = "0A"

// List returns the listening ports in ascending order.
func List() []Port {
	list := scan()
	addOwners(list)
	slices.SortFunc(list, func(a, b Port) int {
		if a.Port != b.Port {
			return int(a.Port) - int(b.Port)
		}
		return strings.Compare(a.Address, b.Address)
	})
	return list
}

// scan returns the listening ports without their owners.
func scan() []Port {
	var list []Port
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		opened, err := os.Open(file)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(opened)
		for lines.Scan() {
			if port, ok := parseLine(lines.Text()); ok {
				list = append(list, port)
			}
		}
		opened.Close()
	}
	return list
}

// parseLine parses a line of /proc/net/tcp: number, local address, remote address, state, …, and the inode as tenth field.
func parseLine(line string) (Port, bool) {
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listening {
		return Port{}, false
	}
	hexAddress, hexPort, _ := strings.Cut(fields[1], ":")
	number, err := strconv.ParseUint(hexPort, 16, 16)
	if err != nil {
		return Port{}, false
	}
	address, ok := parseAddress(hexAddress)
	return Port{Port: uint16(number), Address: address, inode: fields[9]}, ok
}

// parseAddress parses an address of /proc/net/tcp: words of four bytes, each in little-endian order.
func parseAddress(text string) (string, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return "", false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	address, ok := netip.AddrFromSlice(raw)
	return address.Unmap().String(), ok
}

func addOwners(list []Port) {
	if len(list) == 0 {
		return
	}
	owners := socketOwners()
	for i := range list {
		if pid := owners[list[i].inode]; pid != 0 {
			name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
			list[i].Pid, list[i].Command = pid, strings.TrimSpace(string(name))
		}
	}
}

func socketOwners() map[string]int {
	owners := map[string]int{}
	proc, err := os.Open("/proc")
	if err != nil {
		return owners
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		folder := "/proc/" + name + "/fd"
		descriptors, err := os.Open(folder)
		if err != nil {
			continue
		}
		numbers, _ := descriptors.Readdirnames(-1)
		descriptors.Close()
		for _, number := range numbers {
			target, _ := os.Readlink(folder + "/" + number)
			inode, ok := strings.CutPrefix(target, "socket:[")
			if ok {
				owners[strings.TrimSuffix(inode, "]")] = pid
			}
		}
	}
	return owners
}
