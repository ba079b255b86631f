package process

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Size is the size of a terminal.
type Size struct{ Cols, Rows uint32 }

func (s Size) winsize() *unix.Winsize {
	clip := func(n uint32) uint16 { return uint16(min(n, 0xffff)) }
	return &unix.Winsize{Col: clip(s.Cols), Row: clip(s.Rows)}
}

// openPTY opens a terminal and sets its size. The second file is the process's side.
func openPTY(size Size) (controller, terminal *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	controller = os.NewFile(uintptr(fd), "/dev/ptmx")
	defer func() {
		if err != nil {
			controller.Close()
		}
	}()
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("name a terminal: %w", err)
	}
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock a terminal: %w", err)
	}
	if size.Cols > 0 && size.Rows > 0 {
		if err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size.winsize()); err != nil {
			return nil, nil, fmt.Errorf("size a terminal: %w", err)
		}
	}
	name := "/dev/pts/" + strconv.Itoa(number)
	side, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", name, err)
	}
	return controller, os.NewFile(uintptr(side), name), nil
}

func resize(controller *os.File, size Size) error {
	raw, err := controller.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := raw.Control(func(fd uintptr) {
		result = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size.winsize())
	}); err != nil {
		return err
	}
	return result
}
