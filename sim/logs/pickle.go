package logs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// maxPickle bounds the bytes that texts and containers of a pickle take.
const maxPickle = 1 << 28

// maxStack bounds the values that wait on the stack; Python writes containers
// in batches of 1000.
const maxStack = 1 << 22

// A pickle is a machine that reads Python's pickles, protocols 0 to 5
// (pickletools.py of CPython describes them), and builds data alone: numbers,
// texts, lists and dicts. What a pickle would have code make becomes a
// pickledCode.
type pickle struct {
	in    *bufio.Reader
	stack []any
	marks []int // heights of the stack
	memo  map[int]any
	spent int     // bytes
	small [8]byte // of the current number
}

// unpickle reads one pickle.
func unpickle(in *bufio.Reader) (any, error) {
	p := &pickle{in: in, memo: map[int]any{}}
	for {
		op, err := in.ReadByte()
		if err != nil {
			return nil, fmt.Errorf("a pickle that ends too early: %w", io.ErrUnexpectedEOF)
		}
		if op == '.' {
			return p.pop()
		}
		if err := p.step(op); err != nil {
			return nil, fmt.Errorf("a malformed pickle, opcode %q: %w", op, err)
		}
		if len(p.stack) > maxStack {
			return nil, fmt.Errorf("a pickle with more than %d values waiting", maxStack)
		}
	}
}

var errStack = errors.New("not enough on the stack")

func (p *pickle) push(x any) { p.stack = append(p.stack, x) }

func (p *pickle) pop() (any, error) {
	if len(p.stack) == 0 || len(p.marks) > 0 && p.marks[len(p.marks)-1] == len(p.stack) {
		return nil, errStack
	}
	x := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return x, nil
}

// popMark returns what is above the last mark, valid until the next push.
func (p *pickle) popMark() ([]any, error) {
	if len(p.marks) == 0 {
		return nil, errors.New("no mark")
	}
	at := p.marks[len(p.marks)-1]
	p.marks = p.marks[:len(p.marks)-1]
	items := p.stack[at:]
	p.stack = p.stack[:at]
	return items, nil
}

// top returns the value under those just popped.
func (p *pickle) top() any {
	if len(p.stack) == 0 {
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// step executes one opcode.
func (p *pickle) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		return p.discard(1)
	case 0x95: // FRAME
		return p.discard(8)
	case '(':
		if p.marks = append(p.marks, len(p.stack)); len(p.marks) > maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		return nil
	case '0':
		_, err := p.pop()
		return err
	case '1':
		_, err := p.popMark()
		return err
	case '2':
		x, err := p.pop()
		p.push(x)
		p.push(x)
		return err
	case 'N', 0x88, 0x89, 'I', 'L', 'F', 'J', 'K', 'M', 0x8a, 0x8b, 'G':
		return p.number(op)
	case 'S', 'V', 'T', 'U', 'X', 0x8c, 0x8d, 'B', 'C', 0x8e, 0x96:
		return p.text(op)
	case ']', 'l', 'a', 'e', ')', 't', 0x85, 0x86, 0x87, 0x8f, 0x90, 0x91:
		return p.list(op)
	case '}', 'd', 's', 'u':
		return p.dict(op)
	case 'g', 'h', 'j', 'p', 'q', 'r', 0x94:
		return p.remember(op)
	}
	return p.code(op)
}

// number pushes None, a truth value or a number.
func (p *pickle) number(op byte) error {
	switch op {
	case 'N':
		p.push(nil)
	case 0x88, 0x89:
		p.push(op == 0x88)
	case 'K', 'M', 'J':
		x, err := p.unsigned(widths[op])
		if err != nil {
			return err
		}
		if op == 'J' {
			x = uint64(int64(int32(x)))
		}
		p.push(int64(x))
	case 'G':
		x, err := p.unsigned(8)
		if err != nil {
			return err
		}
		p.push(math.Float64frombits(bits.ReverseBytes64(x)))
	case 0x8a, 0x8b:
		return p.long(op)
	default:
		return p.printed(op)
	}
	return nil
}

// long pushes an integer in two's complement. One of more than 64 bits is a
// float.
func (p *pickle) long(op byte) error {
	n, err := p.size(widths[op])
	if err != nil {
		return err
	}
	b, err := p.bytes(n)
	if err != nil {
		return err
	}
	x := 0.0
	for i := len(b) - 1; i >= 0; i-- {
		x = x*256 + float64(b[i])
	}
	if n > 0 && b[n-1] >= 0x80 {
		x -= math.Ldexp(1, 8*n)
	}
	if math.Abs(x) < 1<<53 {
		p.push(int64(x))
	} else {
		p.push(x)
	}
	return nil
}

// printed pushes a number that is written as a line of text.
func (p *pickle) printed(op byte) error {
	line, err := p.line()
	if err != nil {
		return err
	}
	if op == 'I' && (line == "00" || line == "01") {
		p.push(line == "01")
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(line, "L"), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return err
	}
	if op != 'F' && math.Abs(x) < 1<<53 {
		p.push(int64(x))
	} else {
		p.push(x)
	}
	return nil
}

// text pushes a text or bytes.
func (p *pickle) text(op byte) error {
	if op == 'S' || op == 'V' {
		line, err := p.line()
		p.push(strings.Trim(line, `'"`))
		return err
	}
	n, err := p.size(widths[op])
	if err != nil {
		return err
	}
	b, err := p.bytes(n)
	p.push(string(b))
	return err
}

// list pushes or extends lists; tuples and sets are lists here.
func (p *pickle) list(op byte) error {
	switch op {
	case ']', ')', 0x8f:
		p.push(&pickledList{})
		return p.spend(32)
	case 'a':
		x, err := p.pop()
		if err != nil {
			return err
		}
		return p.extend([]any{x})
	case 'e', 0x90:
		items, err := p.popMark()
		if err != nil {
			return err
		}
		return p.extend(items)
	case 'l', 't', 0x91:
		items, err := p.popMark()
		if err != nil {
			return err
		}
		return p.pushList(items)
	}
	n := int(op) - 0x84 // TUPLE1 to TUPLE3
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		x, err := p.pop()
		if err != nil {
			return err
		}
		items[i] = x
	}
	return p.pushList(items)
}

func (p *pickle) pushList(items []any) error {
	l := &pickledList{}
	l.append(items...)
	p.push(l)
	return p.spend(32 + 16*len(l.items))
}

func (p *pickle) extend(items []any) error {
	switch l := p.top().(type) {
	case *pickledList:
		before := len(l.items)
		l.append(items...)
		return p.spend(16 * (len(l.items) - before))
	case *pickledCode:
		return nil // whatever it is, it is not kept
	}
	return errors.New("no list to append to")
}

// dict pushes or extends dicts.
func (p *pickle) dict(op byte) error {
	if op == '}' {
		p.push(&pickledDict{})
		return p.spend(32)
	}
	var items []any
	if op == 's' {
		value, err := p.pop()
		if err != nil {
			return err
		}
		key, err := p.pop()
		if err != nil {
			return err
		}
		items = []any{key, value}
	} else {
		var err error
		if items, err = p.popMark(); err != nil {
			return err
		}
	}
	if op == 'd' {
		items = append([]any(nil), items...)
		p.push(&pickledDict{})
	}
	return p.set(items)
}

// set puts keys and values, one after the other, into the dict on the stack.
func (p *pickle) set(items []any) error {
	d, ok := p.top().(*pickledDict)
	if _, code := p.top().(*pickledCode); code {
		return nil
	}
	if !ok || len(items)%2 != 0 {
		return errors.New("no dict for keys and values")
	}
	for i := 0; i < len(items); i += 2 {
		d.items = append(d.items, pickledItem{fmt.Sprint(items[i]), items[i+1]})
	}
	return p.spend(24 * len(items))
}

// remember reads from or writes to the memo.
func (p *pickle) remember(op byte) error {
	var i int
	var err error
	switch op {
	case 0x94:
		i = len(p.memo)
	case 'g', 'p':
		var line string
		if line, err = p.line(); err == nil {
			i, err = strconv.Atoi(line)
		}
	default:
		i, err = p.size(widths[op])
	}
	if err != nil {
		return err
	}
	if op == 'g' || op == 'h' || op == 'j' {
		x, ok := p.memo[i]
		if !ok {
			return fmt.Errorf("nothing is remembered as %d", i)
		}
		p.push(x)
		return p.spend(16)
	}
	if len(p.stack) == 0 {
		return errStack
	}
	p.memo[i] = p.top()
	return p.spend(48)
}

// code pushes the name of what code would make, and runs nothing.
func (p *pickle) code(op byte) error {
	switch op {
	case 'c': // GLOBAL: two lines
		module, err := p.line()
		if err != nil {
			return err
		}
		name, err := p.line()
		p.push(&pickledCode{module + "." + name})
		return err
	case 'P': // PERSID
		line, err := p.line()
		p.push(&pickledCode{"persistent " + line})
		return err
	case 'Q': // BINPERSID
		return p.replace(1, "persistent")
	case 0x82, 0x83, 0x84: // EXT1, EXT2, EXT4
		p.push(&pickledCode{"extension"})
		return p.discard(1 << (op - 0x82))
	case 0x93: // STACK_GLOBAL: module and name
		name, module := p.peek(0), p.peek(1)
		return p.replace(2, fmt.Sprintf("%.80v.%.80v", module, name))
	case 'R', 0x81: // REDUCE, NEWOBJ: a callable and its arguments
		return p.replace(2, nameOf(p.peek(1)))
	case 0x92: // NEWOBJ_EX: with keyword arguments
		return p.replace(3, nameOf(p.peek(2)))
	case 'b': // BUILD: an object and its state
		return p.replace(2, nameOf(p.peek(1)))
	case 'i': // INST: two lines, arguments above a mark
		module, err := p.line()
		if err != nil {
			return err
		}
		name, err := p.line()
		if err != nil {
			return err
		}
		_, err = p.popMark()
		p.push(&pickledCode{module + "." + name})
		return err
	case 'o': // OBJ: a class and its arguments above a mark
		_, err := p.popMark()
		p.push(&pickledCode{"object"})
		return err
	case 0x97, 0x98: // NEXT_BUFFER, READONLY_BUFFER
		return errors.New("buffers beside the pickle")
	}
	return errors.New("unknown")
}

// peek returns the value i under the top of the stack, nil where there is none.
func (p *pickle) peek(i int) any {
	if i = len(p.stack) - 1 - i; i < 0 {
		return nil
	}
	return p.stack[i]
}

func nameOf(x any) string {
	if c, ok := x.(*pickledCode); ok {
		return c.name
	}
	return "code"
}

// replace pops n values and pushes the name of what code would make of them.
func (p *pickle) replace(n int, name string) error {
	for range n {
		if _, err := p.pop(); err != nil {
			return err
		}
	}
	p.push(&pickledCode{name})
	return p.spend(32 + len(name))
}

// spend counts memory.
func (p *pickle) spend(n int) error {
	if p.spent += n; p.spent > maxPickle {
		return fmt.Errorf("it takes more than %d bytes", maxPickle)
	}
	return nil
}

func (p *pickle) discard(n int) error {
	_, err := p.in.Discard(n)
	return err
}

// bytes reads n bytes; they are not trusted to be there.
func (p *pickle) bytes(n int) ([]byte, error) {
	if err := p.spend(n); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, p.in, int64(n)); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b.Bytes(), nil
}

// widths are the bytes of what follows an opcode: a number, a length or a place
// in the memo.
var widths = map[byte]int{
	'K': 1, 'M': 2, 'J': 4, 0x8a: 1, 0x8b: 4,
	'T': 4, 'U': 1, 'X': 4, 0x8c: 1, 0x8d: 8, 'B': 4, 'C': 1, 0x8e: 8, 0x96: 8,
	'h': 1, 'j': 4, 'q': 1, 'r': 4,
}

// unsigned reads a number of at most 8 bytes, the lowest first.
func (p *pickle) unsigned(width int) (uint64, error) {
	p.small = [8]byte{}
	if _, err := io.ReadFull(p.in, p.small[:width]); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return binary.LittleEndian.Uint64(p.small[:]), nil
}

// size reads a length.
func (p *pickle) size(width int) (int, error) {
	n, err := p.unsigned(width)
	if err != nil {
		return 0, err
	}
	if n > maxPickle {
		return 0, fmt.Errorf("a length of %d, want at most %d", n, maxPickle)
	}
	return int(n), nil
}

// line reads the rest of a line.
func (p *pickle) line() (string, error) {
	line, err := readLine(p.in, nil)
	if err != nil {
		return "", io.ErrUnexpectedEOF
	}
	return strings.TrimSuffix(string(line), "\n"), p.spend(len(line))
}
